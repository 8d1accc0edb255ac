"""Waves(100, scale=8.0) ↔ {"class": "Waves", "nodes": 100, "scale": 8.0}: what was chosen, in plain words."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from pibls.adaptive.subdomains.family import PerPiece
from pibls.assembly.points import Points
from pibls.basis import (
    Annular,
    Broad,
    Chebyshev,
    Features,
    GrownBroad,
    Joined,
    Mirrored,
    Ridges,
    Singular,
    Tip,
    Waves,
)
from pibls.errors import ProblemError
from pibls.io.kinds import ACTIVATION
from pibls.io.record import Record, damaged
from pibls.spaces import Decomposed

_CLASSES = {
    c.__name__: c
    for c in (
        Annular,
        Broad,
        Chebyshev,
        Decomposed,
        Features,
        GrownBroad,
        Joined,
        Mirrored,
        PerPiece,
        Points,
        Ridges,
        Singular,
        Tip,
        Waves,
    )
}

_MAX_DEPTH = 24
"""Settings inside each other: bases, and the tuples they are made of."""


class _UnknownError(Exception):
    """Something for which there are no plain words."""


def describe_choice(value: Any) -> Any:
    """A setting in plain words; one of the user's own as the text that Python shows for it."""
    try:
        return _described(value)
    except _UnknownError:
        return {"text": repr(value)}


def _described(value: Any, depth: int = 0) -> Any:
    if depth == _MAX_DEPTH:
        raise _UnknownError
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return float(value)
    if type(value) is tuple:
        return [_described(v, depth + 1) for v in value]
    if _CLASSES.get(type(value).__name__) is type(value):
        described = {f.name: _described(getattr(value, f.name), depth + 1) for f in fields(value)}
        return {"class": type(value).__name__, **described}
    name = ACTIVATION.name(value)
    if name is None:
        raise _UnknownError
    return name


def rebuild_choice(value: Any, file: str, depth: int = 0) -> Any:
    """The setting of a description; nothing is drawn or computed."""
    if depth == _MAX_DEPTH:
        raise damaged(file, f"settings with at most {_MAX_DEPTH} levels", "more")
    if isinstance(value, list):
        return tuple(rebuild_choice(v, file, depth + 1) for v in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"text"}:
        return Record(file, "settings", value).text("text")
    record = Record(file, "settings", value)
    cls = _CLASSES.get(record.text("class"))
    if cls is None:
        raise record.refusal("class", f"one of {', '.join(_CLASSES)}")
    given = {k: rebuild_choice(v, file, depth + 1) for k, v in value.items() if k != "class"}
    try:
        return cls(**given)
    except (ProblemError, TypeError, ValueError) as problem:
        raise damaged(file, f"settings of {cls.__name__} that make sense", str(problem)[:120]) from None
