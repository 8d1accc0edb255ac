"""From what the user asked for to a picture: the only place that knows kinds by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from pibls.errors import ProblemError
from pibls.plot.curves import Curves, Snapshots
from pibls.plot.deformed import Deformed
from pibls.plot.maps import Maps
from pibls.plot.scene import Picture, Scene
from pibls.plot.surfaces import Surfaces
from pibls.plot.vectors import Arrows, Streams

KINDS: Mapping[str, Callable[[Scene], Picture]] = {
    "curve": Curves,
    "map": Maps,
    "surface": Surfaces,
    "snapshots": Snapshots,
}
VECTOR_KINDS: Mapping[str, Callable[[Scene], Picture]] = {
    "quiver": Arrows,
    "stream": Streams,
    "deformed": Deformed,
}


def picture_of(scene: Scene, kind: Any) -> Picture:
    """The kind that was asked for, or the one that suits the scene."""
    if kind is not None:
        return _named(scene, kind)
    if not scene.view.free:
        raise ProblemError(
            "at",
            expected="at least one coordinate that is left free",
            got="a value for every coordinate",
            remedy="Call the solution for a single value.",
        )
    if scene.vector is not None:
        return Arrows(scene)
    return Curves(scene) if scene.view.free == 1 else Maps(scene)


def _named(scene: Scene, kind: Any) -> Picture:
    kinds = KINDS if scene.vector is None else VECTOR_KINDS
    if kind in kinds:
        return kinds[kind](scene)
    if kind in VECTOR_KINDS:
        remedy = "Give the two components with vector=(u, v)."
    elif kind in KINDS:
        remedy = "Leave vector out."
    else:
        near = difflib.get_close_matches(str(kind), kinds, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Leave kind out for the usual picture."
    raise ProblemError("kind", expected=f"one of {', '.join(kinds)}", got=repr(kind), remedy=remedy)
