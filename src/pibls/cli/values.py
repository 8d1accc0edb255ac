"""Assignments such as x=0.5,y=0.2 on the command line, and values of a solution at points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pibls.errors import ProblemError
from pibls.solution import Solution


def assignments(texts: Sequence[str], argument: str) -> dict[str, str]:
    """Parse NAME=TEXT, separated by commas or given in several texts."""
    found = {}
    for text in texts:
        for assignment in text.split(","):
            name, equals, value = assignment.partition("=")
            if not equals or not name.strip() or not value.strip():
                raise _malformed(argument, assignment)
            found[name.strip()] = value.strip()
    return found


def number(text: str, argument: str) -> float:
    """Parse a finite number."""
    try:
        value = float(text)
    except ValueError:
        raise _malformed(argument, text) from None
    if not np.isfinite(value):
        raise _malformed(argument, text)
    return value


def shortest(value: float) -> str:
    """Return the shortest text that reads back as the same number: 2, 0.1, 0.30000000000000004."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _malformed(argument: str, got: str) -> ProblemError:
    example = "--param k=2" if argument == "--param" else "x=0.5,y=0.2"
    return ProblemError(
        argument, expected="NAME=NUMBER", got=repr(got), remedy=f"Write for example {example}."
    )


def values_text(entry: dict[str, Any]) -> str:
    """Format an entry of `values_at` as x=0.5,y=0.2: u = 1.25, v = 3, with all digits."""
    values = ", ".join(f"{name} = {value!r}" for name, value in entry["values"].items())
    outside = any(np.isnan(v) for v in entry["values"].values())
    return f"{entry['at']}: {values}{' (outside the domain)' * outside}"


def values_at(solution: Solution, text: str) -> dict[str, object]:
    """Return the values of all unknowns at the point given as text."""
    place = {name: number(value, "--at") for name, value in assignments([text], "--at").items()}
    names = [str(c) for c in solution.problem.coordinates]
    if sorted(place) != sorted(names):
        raise ProblemError(
            "--at",
            expected=f"a value for each of {', '.join(names)}",
            got=text,
            remedy=f"Write --at {','.join(f'{n}=0.5' for n in names)}.",
        )
    X = [place[n] for n in names]
    values = {str(u.func): float(np.asarray(solution[u](*X))) for u in solution.problem.unknowns}
    return {"at": text, "values": values}
