"""Colour maps over two coordinates: maps, maps at several times, slices through a body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.arrays import Array
from pibls.plot.backend import figure_of, matplotlib
from pibls.plot.colours import use_powers_of_ten
from pibls.plot.panels import Panels
from pibls.plot.scene import Quantity, Scene, unsuited_kind
from pibls.plot.style_sheet import draw_frame
from pibls.sampling import Section, SimplexMesh, mesh_section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

_WIDE_RATIO = 3.0  # width over height above which the colour bar is placed below
_MAX_SCALED_RATIO = 12.0  # ratio of the sides above which a domain is not drawn to scale


@dataclass(frozen=True)
class Maps:
    """A map for each quantity and each plane; the maps of a quantity share one colour scale."""

    scene: Scene

    def __post_init__(self) -> None:
        if self.scene.view.free_count < 2:
            raise unsuited_kind("map", "at least two free coordinates", self.scene.view)

    def panels(self) -> Panels:
        sides = panel_sides(self.scene.view.planes())
        return Panels.of(len(self.scene.quantities), sides, bars=self.scene.colorbar)

    def draw(self, axes: list[Axes]) -> None:
        self.draw_maps(axes)

    def draw_maps(self, axes: list[Axes]) -> tuple[Section, ...]:
        """Draw the maps, and return the planes in the order of the axes."""
        scene = self.scene
        cuts = scene.view.planes()
        n = scene.panel_points(161, 101, len(cuts))
        patches = [mesh_section(cut, cut.axes(cut.shape(n))) for cut in cuts]
        for row, shown in enumerate(scene.quantities):
            own = axes[row * len(cuts) : (row + 1) * len(cuts)]
            values = [shown.values(cut, p.points) for cut, p in zip(cuts, patches, strict=True)]
            quantity = shown.with_suitable_scale(values)
            norm = quantity.norm(values)
            for ax, cut, patch, v in zip(own, cuts, patches, values, strict=True):
                mappable = fill_patch(ax, patch, v, quantity, norm, scene.levels)
                label_axes(ax, cut, scene)
            if scene.colorbar:
                add_colour_bar(mappable, own, cuts, quantity, scene)
        if len({cut.free for cut in cuts}) == 1:
            for ax in axes:
                if ax.get_subplotspec() is not None:
                    ax.label_outer()
        return cuts


def add_colour_bar(
    mappable: ScalarMappable, axes: list[Axes], cuts: tuple[Section, ...], quantity: Quantity, scene: Scene
) -> None:
    """Add a colour bar beside the maps, or below a single wide one."""
    same = len({cut.free for cut in cuts}) == 1
    wide, high = panel_sides(cuts)[0]
    below = len(cuts) == 1 and wide > _WIDE_RATIO * high
    place = {"location": "bottom", "aspect": 40} if below else {"aspect": 24}
    bar = figure_of(axes[0]).colorbar(mappable, ax=axes, pad=0.02, shrink=1.0 if same else 0.8, **place)
    label = quantity.label(scene.labels)
    bar.set_label(label)
    if not below and len(quantity.field.name) <= 2 and label.endswith("$"):
        # A single letter is not rotated, because a rotated u reads as n.
        bar.ax.yaxis.label.set(rotation=0, horizontalalignment="left", verticalalignment="center")
    if isinstance(bar.formatter, matplotlib("ticker").ScalarFormatter):
        bar.formatter.set_useMathText(True)
    bar.outline.set_linewidth(0.6)


def fill_patch(
    ax: Axes, patch: SimplexMesh, values: Array, quantity: Quantity, norm: Normalize, levels: int | None
) -> ScalarMappable:
    """Colour a patch; cells with NaN values stay empty."""
    patch = patch.restricted(np.isfinite(values))
    mesh = matplotlib("tri").Triangulation(*patch.points.T, patch.cells)
    shown = np.where(np.isfinite(values), values, 0.0)
    # Rasterized, because viewers cannot open a PDF with a hundred thousand triangles.
    mappable: ScalarMappable = ax.tripcolor(
        mesh, shown, shading="gouraud", cmap=quantity.scale.cmap, norm=norm, rasterized=True
    )
    if levels:
        ax.tricontour(
            mesh, shown, levels=levels, colors=quantity.scale.line_colour, linewidths=0.6, alpha=0.75
        )
    if len(patch.boundary_facets):
        outline = matplotlib("collections").LineCollection(
            patch.boundary_facets, colors="0.15", linewidths=0.8
        )
        outline.set_capstyle("round")
        ax.add_collection(outline, autolim=False)
    return mappable


def label_axes(ax: Axes, cut: Section, scene: Scene) -> None:
    """Set limits, labels and title, with equal scales if both coordinates are in space."""
    (x0, x1), (y0, y1) = cut.bounds
    margin = 0.0 if _is_full(cut) else 0.02
    ax.set_xlim(x0 - margin * (x1 - x0), x1 + margin * (x1 - x0))
    ax.set_ylim(y0 - margin * (y1 - y0), y1 + margin * (y1 - y0))
    ax.set_aspect("equal" if _is_to_scale(cut) else "auto")
    ax.set_xlabel(scene.labels.coordinate(cut.symbols[0]))
    ax.set_ylabel(scene.labels.coordinate(cut.symbols[1]))
    ax.set_title(scene.title(cut), fontsize="medium")
    draw_frame(ax)
    use_powers_of_ten(ax)
    limit_ticks(ax)


def limit_ticks(ax: Axes) -> None:
    """Limit the number of ticks by the size of the axes, which may be a narrow strip."""
    extent = ax.get_window_extent()
    dpi = figure_of(ax).dpi
    ax.locator_params(axis="x", nbins=int(np.clip(extent.width / dpi / 0.6, 2, 6)))
    ax.locator_params(axis="y", nbins=int(np.clip(extent.height / dpi / 0.4, 2, 6)))


def _is_full(cut: Section) -> bool:
    """Whether the corners of the bounds belong to the domain, as those of a box do."""
    (x0, x1), (y0, y1) = cut.bounds
    return bool(cut.inside(np.array([[x0, y0], [x0, y1], [x1, y0], [x1, y1]])).all())


def _is_to_scale(cut: Section) -> bool:
    lengths = np.ptp(cut.bounds, axis=1)
    return cut.is_space and float(lengths.max() / lengths.min()) <= _MAX_SCALED_RATIO


def panel_sides(cuts: tuple[Section, ...]) -> list[tuple[float, float]]:
    """Return width and height of each section: to scale if possible, else of a standard shape."""
    if not all(_is_to_scale(cut) for cut in cuts):
        return [(1.0, 0.8)] * len(cuts)
    lengths = [np.ptp(cut.bounds, axis=1) for cut in cuts]
    return [(float(a), float(b)) for a, b in lengths]
