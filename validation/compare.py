"""Compare the records of two runs: problems lost and gained, estimates, processor time, equal digests."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from validation.measure import Record, solved
from validation.runner import Key, read

SAME = ("digest", "estimate", "nodes", "status")
"""Fields that are equal if two runs are equal bit for bit."""


def equal(old: Record, new: Record) -> bool:
    return all(old.get(name) == new.get(name) for name in SAME)


def _number(record: Record, name: str) -> str:
    if name == "error":
        return f"{record['error'] / record['tol']:.1e}" if "error" in record else "-"
    value = record.get(name)
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


def row(at: Key, old: Record, new: Record) -> str:
    """Return one problem as old → new: status, error / tol, estimate / error, nodes, seconds, digest."""
    fields = ("status", "error", "ratio", "nodes", "seconds", "digest")
    pairs = [(_number(old, name), _number(new, name)) for name in fields]
    labels = ("", "error/tol ", "estimate/error ", "nodes ", "CPU s ", "digest ")
    said = [f"{label}{a}" if a == b else f"{label}{a} → {b}" for label, (a, b) in zip(labels, pairs)]
    return f"{at[0]}: {at[1]}, seed {at[2]}: {', '.join(said)}"


def _below(record: Record) -> bool:
    return bool(record.get("estimate_below"))


def compare(old: Path, new: Path, *, everything: bool = False) -> int:
    """Print the comparison and return the number of problems lost and of estimates newly below the error."""
    before, after = read(old), read(new)
    both = [at for at in before if at in after]
    unlike = [at for at in both if not equal(before[at], after[at])]
    lists: dict[str, Iterable[Key]] = {
        "newly lost": (at for at in both if solved(before[at]) and not solved(after[at])),
        "newly solved": (at for at in both if solved(after[at]) and not solved(before[at])),
        "estimate newly below error": (at for at in both if _below(after[at]) and not _below(before[at])),
        "estimate no longer below error": (
            at for at in both if _below(before[at]) and not _below(after[at])
        ),
    }  # fmt: skip
    for at in both if everything else unlike:
        print(row(at, before[at], after[at]))
    found = {title: list(names) for title, names in lists.items()}
    for title, names in found.items():
        print(f"{title}: {'; '.join(f'{s}: {n}, seed {i}' for s, n, i in names) or 'none'}")
    print(f"in one file only: {len(set(before) ^ set(after))}")
    print(f"{len(both) - len(unlike)} of {len(both)} solves are equal bit for bit")
    timed = [at for at in both if before[at].get("seconds") and after[at].get("seconds")]
    if timed:
        logarithms = [math.log(after[at]["seconds"] / before[at]["seconds"]) for at in timed]
        mean = math.exp(sum(logarithms) / len(timed))
        print(f"processor time, new / old: geometric mean {mean:.3f} of {len(timed)} solves")
    return len(found["newly lost"]) + len(found["estimate newly below error"])
