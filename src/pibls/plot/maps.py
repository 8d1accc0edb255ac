"""u over two coordinates, as colours: maps, frames at several times, slices through a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import matplotlib
from pibls.plot.canvas import Panels
from pibls.plot.colours import powers_of_ten
from pibls.plot.scene import Quantity, Scene, unsuited
from pibls.sampling import Section, Simplices, patch_of

_WIDE = 3.0  # a map that much wider than high has its colour bar below
_SLENDER = 12.0  # a domain that much longer than wide is not drawn to scale


@dataclass(frozen=True)
class Maps:
    """A map for each quantity and each plane; the maps of a quantity share their colours."""

    scene: Scene

    def __post_init__(self) -> None:
        if self.scene.view.free < 2:
            raise unsuited("map", "at least two free coordinates", self.scene.view)

    def panels(self) -> Panels:
        sides = sides_of(self.scene.view.planes())
        return Panels.of(len(self.scene.quantities), sides, bars=self.scene.colorbar)

    def draw(self, axes: list[Any]) -> None:
        self.paint(axes)

    def paint(self, axes: list[Any]) -> tuple[Section, ...]:
        """Draw, and say which plane is on which of the first axes."""
        scene = self.scene
        cuts = scene.view.planes()
        n = scene.nodes(161, 101, len(cuts))
        patches = [patch_of(cut, cut.axes(cut.shape(n))) for cut in cuts]
        for row, shown in enumerate(scene.quantities):
            own = axes[row * len(cuts) : (row + 1) * len(cuts)]
            values = [shown.values(cut, p.points) for cut, p in zip(cuts, patches, strict=True)]
            quantity = shown.suited(values)
            norm = quantity.norm(values)
            for ax, cut, patch, v in zip(own, cuts, patches, values, strict=True):
                mappable = fill(ax, patch, v, quantity, norm, scene.levels)
                dress(ax, cut, scene)
            if scene.colorbar:
                explain(mappable, own, cuts, quantity, scene)
        if len({cut.free for cut in cuts}) == 1:
            for ax in axes:
                if ax.get_subplotspec() is not None:
                    ax.label_outer()
        return cuts


def explain(
    mappable: Any, axes: list[Any], cuts: tuple[Section, ...], quantity: Quantity, scene: Scene
) -> None:
    """The colour bar of some maps: beside them, or below a wide one."""
    same = len({cut.free for cut in cuts}) == 1
    wide, high = sides_of(cuts)[0]
    below = len(cuts) == 1 and wide > _WIDE * high
    place = {"location": "bottom", "aspect": 40} if below else {"aspect": 24}
    bar = axes[0].get_figure().colorbar(mappable, ax=axes, pad=0.02, shrink=1.0 if same else 0.8, **place)
    label = quantity.label(scene.labels)
    bar.set_label(label)
    if not below and len(quantity.field.name) <= 2 and label.endswith("$"):
        # A single letter stands upright: lying down, u reads as n.
        bar.ax.yaxis.label.set(rotation=0, horizontalalignment="left", verticalalignment="center")
    if isinstance(bar.formatter, matplotlib("ticker").ScalarFormatter):
        bar.formatter.set_useMathText(True)
    bar.outline.set_linewidth(0.6)


def fill(ax: Any, patch: Simplices, values: Array, quantity: Quantity, norm: Any, levels: int | None) -> Any:
    """Colour a patch; what is not a number, and what is outside, stays empty."""
    patch = patch.restricted(np.isfinite(values))
    mesh = matplotlib("tri").Triangulation(*patch.points.T, patch.cells)
    shown = np.where(np.isfinite(values), values, 0.0)
    # Rasterized: a PDF with a hundred thousand triangles opens in no viewer.
    mappable = ax.tripcolor(
        mesh, shown, shading="gouraud", cmap=quantity.scale.cmap, norm=norm, rasterized=True
    )
    if levels:
        ax.tricontour(mesh, shown, levels=levels, colors=quantity.scale.ink, linewidths=0.6, alpha=0.75)
    if len(patch.rim):
        rim = matplotlib("collections").LineCollection(patch.rim, colors="0.15", linewidths=0.8)
        rim.set_capstyle("round")
        ax.add_collection(rim, autolim=False)
    return mappable


def dress(ax: Any, cut: Section, scene: Scene) -> None:
    """Limits, labels, title, and lengths to scale where both coordinates are lengths."""
    (x0, x1), (y0, y1) = cut.bounds
    margin = 0.0 if _is_full(cut) else 0.02
    ax.set_xlim(x0 - margin * (x1 - x0), x1 + margin * (x1 - x0))
    ax.set_ylim(y0 - margin * (y1 - y0), y1 + margin * (y1 - y0))
    ax.set_aspect("equal" if _to_scale(cut) else "auto")
    ax.set_xlabel(scene.labels.coordinate(cut.symbols[0]))
    ax.set_ylabel(scene.labels.coordinate(cut.symbols[1]))
    ax.set_title(scene.title(cut), fontsize="medium")
    powers_of_ten(ax)
    # As many ticks as have room: a slice through a body may be a narrow strip.
    extent = ax.get_window_extent()
    dpi = ax.get_figure().dpi
    ax.locator_params(axis="x", nbins=int(np.clip(extent.width / dpi / 0.6, 2, 6)))
    ax.locator_params(axis="y", nbins=int(np.clip(extent.height / dpi / 0.4, 2, 6)))


def _is_full(cut: Section) -> bool:
    """Whether the corners of the bounds belong to the domain, as those of a box do."""
    (x0, x1), (y0, y1) = cut.bounds
    return bool(cut.inside(np.array([[x0, y0], [x0, y1], [x1, y0], [x1, y1]])).all())


def _to_scale(cut: Section) -> bool:
    lengths = np.ptp(cut.bounds, axis=1)
    return cut.is_space and float(lengths.max() / lengths.min()) <= _SLENDER


def sides_of(cuts: tuple[Section, ...]) -> list[tuple[float, float]]:
    """Width and height of each cut: to scale, or where that cannot be, of one usual shape."""
    if not all(_to_scale(cut) for cut in cuts):
        return [(1.0, 0.8)] * len(cuts)
    lengths = [np.ptp(cut.bounds, axis=1) for cut in cuts]
    return [(float(a), float(b)) for a, b in lengths]
