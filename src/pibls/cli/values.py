"""x=0.5,y=0.2: assignments on the command line, parsed and never evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pibls.errors import ProblemError
from pibls.solution import Solution


def assignments(texts: Sequence[str], argument: str) -> dict[str, float]:
    """NAME=NUMBER, several by commas or by repetition."""
    found = {}
    for text in texts:
        for piece in text.split(","):
            name, equals, value = piece.partition("=")
            if not equals or not name.strip():
                raise _malformed(argument, piece)
            found[name.strip()] = number(value, argument)
    return found


def number(text: str, argument: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _malformed(argument, text) from None
    if not np.isfinite(value):
        raise _malformed(argument, text)
    return value


def _malformed(argument: str, got: str) -> ProblemError:
    return ProblemError(
        argument, expected="NAME=NUMBER", got=repr(got), remedy="Write for example x=0.5,y=0.2."
    )


def values_at(solution: Solution, text: str) -> dict[str, Any]:
    """Every unknown at one point."""
    place = assignments([text], "--at")
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
