"""Plot of a deformed body x ↦ x + s (u, v), coloured by the magnitude of the displacement.

The undeformed outline is dotted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pibls.plot.backend import matplotlib
from pibls.plot.maps import Maps, add_colour_bar, fill_patch, label_axes
from pibls.plot.panels import Panels
from pibls.plot.scene import Scene
from pibls.plot.vectors import check_plane, components
from pibls.sampling import mesh_section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UNSCALED_RANGE = (0.02, 0.2)  # displacements relative to the body's size that are drawn to scale
_TARGET_RATIO = 0.1  # other displacements are scaled to about this ratio


@dataclass(frozen=True)
class Deformed:
    """The deformed body; displacements that are too small or too large to see are scaled."""

    scene: Scene

    def __post_init__(self) -> None:
        check_plane("deformed", self.scene)

    def panels(self) -> Panels:
        return Maps(self.scene).panels()

    def draw(self, axes: list[Axes]) -> None:
        scene = self.scene
        cuts = scene.view.planes()
        n = scene.panel_points(161, 101, len(cuts))
        patches = [mesh_section(cut, cut.axes(cut.shape(n))) for cut in cuts]
        (shown,) = scene.quantities
        values = [shown.values(cut, p.points) for cut, p in zip(cuts, patches, strict=True)]
        quantity = shown.with_suitable_scale(values)
        norm = quantity.norm(values)
        moves = [
            np.nan_to_num(np.stack(components(scene, cut, p.points), axis=1))
            for cut, p in zip(cuts, patches, strict=True)
        ]
        size = max(float(np.ptp(cut.bounds, axis=1).max()) for cut in cuts)
        factor = displacement_scale(max(float(np.abs(m).max(initial=0.0)) for m in moves) / size)
        for ax, cut, patch, v, move in zip(axes, cuts, patches, values, moves, strict=True):
            # Evaluated at the points of the outline, which are not those of the patch.
            outline = patch.boundary_facets.reshape(-1, 2)
            moved = outline + factor * np.nan_to_num(np.stack(components(scene, cut, outline), axis=1))
            deformed = patch.with_points(
                patch.points + factor * move, moved.reshape(patch.boundary_facets.shape)
            )
            mappable = fill_patch(ax, deformed, v, quantity, norm, scene.levels)
            label_axes(ax, cut, scene)
            if len(outline):
                before = matplotlib("collections").LineCollection(
                    patch.boundary_facets, colors="0.6", linewidths=0.8, linestyles=":"
                )
                ax.add_collection(before, autolim=False)
            if factor != 1.0:
                words = [ax.get_title(), f"displacements × {factor:g}"]
                ax.set_title(", ".join(filter(None, words)), fontsize="medium")
            both = np.concatenate([patch.points, deformed.points])
            low, high = both.min(axis=0), both.max(axis=0)
            margin = 0.03 * (high - low)
            ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
            ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
        if scene.colorbar:
            add_colour_bar(mappable, axes, cuts, quantity, scene)


def displacement_scale(ratio: float) -> float:
    """Return the scale factor, 1, 2 or 5 times a power of ten, for a ratio of displacement to body size.

    >>> displacement_scale(0.1), displacement_scale(1e-4), displacement_scale(0.6)
    (1.0, 1000.0, 0.1)
    """
    low, high = _UNSCALED_RANGE
    if not 0.0 < ratio < math.inf or low <= ratio <= high:
        return 1.0
    wanted = _TARGET_RATIO / ratio
    power = 10.0 ** math.floor(math.log10(wanted) + 1e-9)
    return float(f"{max(m for m in (1.0, 2.0, 5.0) if m <= wanted / power * (1 + 1e-9)) * power:.6g}")
