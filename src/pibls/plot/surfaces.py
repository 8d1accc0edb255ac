"""Surface plots over two coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.plot.backend import matplotlib
from pibls.plot.panels import Panels
from pibls.plot.scene import Scene, unsuited_kind
from pibls.sampling import Section, mesh_section

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Surfaces:
    """A surface for each quantity and each plane."""

    scene: Scene

    def __post_init__(self) -> None:
        if self.scene.view.free_count < 2:
            raise unsuited_kind("surface", "at least two free coordinates", self.scene.view)

    def panels(self) -> Panels:
        cuts = self.scene.view.planes()
        return Panels.of(len(self.scene.quantities), [(1.0, 0.8)] * len(cuts), projection="3d")

    def draw(self, axes: list[Any]) -> None:
        scene = self.scene
        cuts = scene.view.planes()
        n = scene.panel_points(81, 61, len(cuts))
        patches = [mesh_section(cut, cut.axes((n, n))) for cut in cuts]
        for row, quantity in enumerate(scene.quantities):
            own = axes[row * len(cuts) : (row + 1) * len(cuts)]
            values = [quantity.values(cut, p.points) for cut, p in zip(cuts, patches, strict=True)]
            low, high = quantity.scale.limits(np.concatenate(values))
            for ax, cut, whole, v in zip(own, cuts, patches, values, strict=True):
                patch = whole.restricted(np.isfinite(v))
                mesh = matplotlib("tri").Triangulation(*patch.points.T, patch.cells)
                heights = np.where(np.isfinite(v), v, low)
                surface = ax.plot_trisurf(mesh, heights, cmap=quantity.scale.cmap, vmin=low, vmax=high,
                                          linewidth=0.4, rasterized=True)  # fmt: skip
                surface.set_edgecolor("face")  # otherwise the background shows between the triangles
                ax.set_xlabel(scene.labels.coordinate(cut.symbols[0]))
                ax.set_ylabel(scene.labels.coordinate(cut.symbols[1]), labelpad=6)
                ax.set_zlabel(quantity.label(scene.labels))
                ax.set_zlim(low, high)
                ax.set_title(scene.title(cut), fontsize="medium")
                box = _box_aspect(cut)
                max_ticks = 5 if len(axes) == 1 else 3
                for name, side in zip("xyz", box, strict=True):
                    ax.locator_params(axis=name, nbins=max_ticks if side > 0.6 * max(box) else 3)
                ax.set_box_aspect(box, zoom=0.92)  # leaves space for the label of the z-axis
                ax.view_init(elev=28, azim=-58)


def _box_aspect(cut: Section) -> tuple[float, float, float]:
    """Return the proportions of the box around a surface: those of the domain, within limits."""
    x, y = np.ptp(cut.bounds, axis=1)
    ratio = float(np.clip(y / x, 0.4, 2.5)) if cut.is_space else 1.0
    side = 4.0 / max(ratio, 1.0)
    return side, side * ratio, 2.8
