"""Check the references of entries without the solver."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from validation.entry import Entry


def verify(chosen: Sequence[Entry]) -> bool:
    """Print a line per entry that can be checked and return whether all references are right."""
    checked = [e for e in chosen if e.verify is not None]
    right = 0
    print(f"{'name':24s} {'residual':>9s} {'condition':>9s} {'second':>9s} {'claimed':>9s} seconds")
    for entry in checked:
        assert entry.verify is not None
        began = time.perf_counter()
        try:
            check = entry.verify()
            found, ok = (check.residual, check.conditions, check.second), bool(check.ok)
        except Exception as error:
            print(f"{entry.name}: {type(error).__name__}: {error}")
            found, ok = (math.inf,) * 3, False
        right += ok
        numbers = " ".join(f"{v:9.1e}" for v in (*found, entry.accuracy))
        seconds = time.perf_counter() - began
        print(f"{entry.name:24s} {numbers} {seconds:7.1f}{'' if ok else '  WRONG'}", flush=True)
    print(f"{right} of {len(checked)} references are right; {len(chosen) - len(checked)} have no check")
    return right == len(checked)
