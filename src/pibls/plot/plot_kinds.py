"""The kinds of plots by name, and the choice of the default kind for a scene."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from pibls.errors import ProblemError
from pibls.plot.curves import Curves, Snapshots
from pibls.plot.deformed import Deformed
from pibls.plot.maps import Maps
from pibls.plot.scene import PlotKind, Scene
from pibls.plot.surfaces import Surfaces
from pibls.plot.vectors import Arrows, Streams

KINDS: Mapping[str, Callable[[Scene], PlotKind]] = {
    "curve": Curves,
    "map": Maps,
    "surface": Surfaces,
    "snapshots": Snapshots,
}
VECTOR_KINDS: Mapping[str, Callable[[Scene], PlotKind]] = {
    "quiver": Arrows,
    "stream": Streams,
    "deformed": Deformed,
}


def plot_kind(scene: Scene, kind: str | None) -> PlotKind:
    """Return the plot of the given kind, or of the default kind for the scene."""
    if kind is not None:
        return _kind_by_name(scene, kind)
    if not scene.view.free_count:
        raise ProblemError(
            "at",
            expected="at least one free coordinate",
            got="a value for every coordinate",
            remedy="Call the solution to get a single value.",
        )
    if scene.vector is not None:
        return Arrows(scene)
    return Curves(scene) if scene.view.free_count == 1 else Maps(scene)


def _kind_by_name(scene: Scene, kind: str) -> PlotKind:
    kinds = KINDS if scene.vector is None else VECTOR_KINDS
    if kind in kinds:
        return kinds[kind](scene)
    if kind in VECTOR_KINDS:
        remedy = "Give the two components with vector=(u, v)."
    elif kind in KINDS:
        remedy = "Omit vector."
    else:
        near = difflib.get_close_matches(str(kind), kinds, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Omit kind for the default."
    raise ProblemError("kind", expected=f"one of {', '.join(kinds)}", got=repr(kind), remedy=remedy)
