"""x ↦ x + s (u, v): a body with its displacements, coloured by their size; its outline before, dotted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.plot.backend import matplotlib
from pibls.plot.canvas import Panels
from pibls.plot.maps import Maps, dress, explain, fill
from pibls.plot.scene import Scene
from pibls.plot.vectors import check_plane, components
from pibls.sampling import patch_of

_SEEN = (0.02, 0.2)  # displacements of that share of the body are drawn as they are, …
_SHOWN = 0.1  # … others as about that much of it


@dataclass(frozen=True)
class Deformed:
    """The body where its displacements take it; those that would not be seen are made larger."""

    scene: Scene

    def __post_init__(self) -> None:
        check_plane("deformed", self.scene)

    def panels(self) -> Panels:
        return Maps(self.scene).panels()

    def draw(self, axes: list[Any]) -> None:
        scene = self.scene
        cuts = scene.view.planes()
        n = scene.nodes(161, 101, len(cuts))
        patches = [patch_of(cut, cut.axes(cut.shape(n))) for cut in cuts]
        (shown,) = scene.quantities
        values = [shown.values(cut, p.points) for cut, p in zip(cuts, patches, strict=True)]
        quantity = shown.suited(values)
        norm = quantity.norm(values)
        moves = [
            np.nan_to_num(np.stack(components(scene, cut, p.points), axis=1))
            for cut, p in zip(cuts, patches, strict=True)
        ]
        size = max(float(np.ptp(cut.bounds, axis=1).max()) for cut in cuts)
        factor = exaggeration(max(float(np.abs(m).max(initial=0.0)) for m in moves) / size)
        for ax, cut, patch, v, move in zip(axes, cuts, patches, values, moves, strict=True):
            # Where the outline goes is asked of the field itself: its points are not those of the patch.
            rim = patch.rim.reshape(-1, 2)
            moved = rim + factor * np.nan_to_num(np.stack(components(scene, cut, rim), axis=1))
            there = patch.moved(patch.points + factor * move, moved.reshape(patch.rim.shape))
            mappable = fill(ax, there, v, quantity, norm, scene.levels)
            dress(ax, cut, scene)
            if len(rim):
                before = matplotlib("collections").LineCollection(
                    patch.rim, colors="0.6", linewidths=0.8, linestyles=":"
                )
                ax.add_collection(before, autolim=False)
            if factor != 1.0:
                words = [ax.get_title(), f"displacements × {factor:g}"]
                ax.set_title(", ".join(filter(None, words)), fontsize="medium")
            both = np.concatenate([patch.points, there.points])
            low, high = both.min(axis=0), both.max(axis=0)
            margin = 0.03 * (high - low)
            ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
            ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
        if scene.colorbar:
            explain(mappable, axes, cuts, quantity, scene)


def exaggeration(share: float) -> float:
    """1, 2 or 5 times a power of ten: the factor for displacements that are this share of the body.

    >>> exaggeration(0.1), exaggeration(1e-4), exaggeration(0.6)
    (1.0, 1000.0, 0.1)
    """
    low, high = _SEEN
    if not 0.0 < share < math.inf or low <= share <= high:
        return 1.0
    wanted = _SHOWN / share
    power = 10.0 ** math.floor(math.log10(wanted) + 1e-9)
    return float(f"{max(m for m in (1.0, 2.0, 5.0) if m <= wanted / power * (1 + 1e-9)) * power:.6g}")
