"""Solver settings of a saved solution as JSON.

`Waves(100, scale=8.0)` is saved as {"class": "Waves", "nodes": 100, "scale": 8.0}.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from pibls.adaptive.subdomains.family import SubdomainSpecs
from pibls.assembly.points import Points
from pibls.basis import (
    Annular,
    Broad,
    Chebyshev,
    Features,
    GrownBroad,
    Joined,
    Mirrored,
    RandomFourierFeatures,
    Ridges,
    Singular,
    Tip,
)
from pibls.errors import ProblemError
from pibls.io.record import Json, Record, damaged_file
from pibls.io.saved_classes import ACTIVATION
from pibls.spaces import Decomposed

_CLASSES: dict[str, type] = {
    "Annular": Annular,
    "Broad": Broad,
    "Chebyshev": Chebyshev,
    "Decomposed": Decomposed,
    "Features": Features,
    "GrownBroad": GrownBroad,
    "Joined": Joined,
    "Mirrored": Mirrored,
    "PerPiece": SubdomainSpecs,
    "Points": Points,
    "Ridges": Ridges,
    "Singular": Singular,
    "Tip": Tip,
    "Waves": RandomFourierFeatures,
}
"""Name in the file → class. The names are part of the file format and stay when a class is renamed."""
_NAMES = {cls: name for name, cls in _CLASSES.items()}
_KEYS: dict[type, dict[str, str]] = {}
"""Class → {field: key in the file}, for fields whose key in the file has another name."""

_MAX_DEPTH = 24
"""Maximum nesting depth of settings: bases and tuples of them."""


class _UnknownError(Exception):
    """A value that has no JSON representation."""


def describe_setting(value: object) -> Json:
    """Return a setting as JSON; objects of unknown classes as their ``repr``."""
    try:
        return _described(value)
    except _UnknownError:
        return {"text": repr(value)}


def _described(value: Any, depth: int = 0) -> Json:
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
    if type(value) in _NAMES:
        keys = _KEYS.get(type(value), {})
        described = {
            keys.get(f.name, f.name): _described(vars(value)[f.name], depth + 1) for f in fields(value)
        }
        return {"class": _NAMES[type(value)], **described}
    name = ACTIVATION.name(value)
    if name is None:
        raise _UnknownError
    return name


def rebuild_setting(value: Json, file: str, depth: int = 0) -> object:
    """Return the setting from its JSON; no random numbers are drawn."""
    if depth == _MAX_DEPTH:
        raise damaged_file(file, f"settings nested at most {_MAX_DEPTH} deep", "deeper ones")
    if isinstance(value, list):
        return tuple(rebuild_setting(v, file, depth + 1) for v in value)
    if not isinstance(value, dict):
        return value
    if value.keys() == {"text"}:
        return Record(file, "settings", value).text("text")
    record = Record(file, "settings", value)
    cls = _CLASSES.get(record.text("class"))
    if cls is None:
        raise record.error_at("class", f"one of {', '.join(_CLASSES)}")
    field_names: dict[str, str] = {key: name for name, key in _KEYS.get(cls, {}).items()}
    given: dict[str, object] = {
        field_names.get(str(k), str(k)): rebuild_setting(v, file, depth + 1)
        for k, v in value.items()
        if k != "class"
    }
    try:
        return cls(**given)
    except (ProblemError, TypeError, ValueError) as problem:
        raise damaged_file(file, f"valid settings of {_NAMES[cls]}", str(problem)[:120]) from None
