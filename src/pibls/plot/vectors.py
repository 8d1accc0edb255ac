"""Vector fields (u, v) over two coordinates: arrows or stream lines over the magnitude."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.plot.maps import Maps
from pibls.plot.panels import Panels
from pibls.plot.scene import Scene, unsuited_kind
from pibls.sampling import SampledField, Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ARROWS = 19  # along the longer side
_STREAM_POINTS = 61  # grid points along the longer side
_ARROW_COLOUR = "white"
_ARROW_EDGE_COLOUR = "0.1"


@dataclass(frozen=True)
class Arrows:
    """An arrow at each node of a coarse grid; the longest is as long as the grid spacing."""

    scene: Scene

    def __post_init__(self) -> None:
        check_plane("quiver", self.scene)

    def panels(self) -> Panels:
        return Maps(self.scene).panels()

    def draw(self, axes: list[Axes]) -> None:
        cuts = Maps(self.scene).draw_maps(axes)
        places = [_centres(cut, _ARROWS) for cut in cuts]
        found = [components(self.scene, cut, P) for cut, P in zip(cuts, places, strict=True)]
        longest = max(float(np.nanmax(np.hypot(*W), initial=0.0)) for W in found) or 1.0
        for ax, cut, P, W in zip(axes, cuts, places, found, strict=True):
            spacing = float(np.ptp(cut.bounds, axis=1).max()) / _ARROWS
            ax.quiver(*P.T, *W, angles="xy", scale_units="xy", scale=longest / (1.05 * spacing), pivot="mid",
                      width=0.0045, color=_ARROW_COLOUR, edgecolor=_ARROW_EDGE_COLOUR,
                      linewidth=0.35)  # fmt: skip


@dataclass(frozen=True)
class Streams:
    """Stream lines of the field."""

    scene: Scene

    def __post_init__(self) -> None:
        check_plane("stream", self.scene)

    def panels(self) -> Panels:
        return Maps(self.scene).panels()

    def draw(self, axes: list[Axes]) -> None:
        cuts = Maps(self.scene).draw_maps(axes)
        for ax, cut in zip(axes, cuts, strict=True):
            m, n = cut.shape(_STREAM_POINTS)
            x, y = cut.axes((m, n))
            P = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
            U, V = (np.ma.masked_invalid(w.reshape(n, m)) for w in components(self.scene, cut, P))
            ax.streamplot(x, y, U, V, color=_ARROW_COLOUR, linewidth=0.8, density=1.1, arrowsize=0.8)


def check_plane(kind: str, scene: Scene) -> None:
    """Raise an error unless the view consists of planes with two space coordinates."""
    view = scene.view
    planes = view.planes() if view.free_count >= 2 else ()
    if not planes or len({p.free for p in planes}) > 1 or not all(p.is_space for p in planes):
        raise unsuited_kind(kind, "two free coordinates in space", view)


def components(scene: Scene, cut: Section, P: Array) -> tuple[Array, Array]:
    """Return both components at points of a section."""
    assert scene.vector is not None  # vector kinds are only chosen with a vector
    u, v = scene.vector
    return u(cut.points(P)), v(cut.points(P))


def _centres(cut: Section, n: int) -> Array:
    """Return the centres of the cells of a grid that lie inside the domain."""
    sides = []
    for (low, high), k in zip(cut.bounds, cut.shape(n), strict=True):
        step = (high - low) / k
        sides.append(low + step * (np.arange(k) + 0.5))
    P = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    return np.asarray(P[cut.inside(P)])


def magnitude(u: SampledField, v: SampledField) -> SampledField:
    """Return the magnitude |(u, v)| as a field."""
    import sympy as sp

    size = sp.sqrt(u.expression**2 + v.expression**2)
    return SampledField(u.solution, size, f"|({u.name}, {v.name})|", rf"|({u.symbol}, {v.symbol})|")
