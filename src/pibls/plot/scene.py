"""The content of a plot, independent of its kind: quantities, sections, labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.plot.colours import ColourScale
from pibls.plot.labels import Labels
from pibls.plot.panels import Panels
from pibls.plot.view import View
from pibls.sampling import SampledField, Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize


@dataclass(frozen=True)
class Quantity:
    """A field and the colour scale on which it is shown."""

    field: SampledField
    scale: ColourScale
    unit: str | None = None
    """The name of the unknown whose unit it has."""

    def values(self, section: Section, P: Array) -> Array:
        """Return the displayed values at points P of a section."""
        return self.scale.displayed(self.field(section.points(P)))

    def with_suitable_scale(self, values: list[Array]) -> Quantity:
        """Return the quantity on a scale suitable for all these values, common to all panels."""
        return replace(self, scale=self.scale.suitable_for(np.concatenate(values)))

    def norm(self, values: list[Array]) -> Normalize:
        """Return a common norm for all these values."""
        return self.scale.norm(*self.scale.limits(np.concatenate(values)))

    def symbol(self, labels: Labels) -> str:
        """Return the displayed quantity without its unit, for a legend."""
        return labels.quantity(self.scale.label(self.field.symbol), self.field.name, None)

    def label(self, labels: Labels) -> str:
        """Return the axis label of the displayed quantity."""
        return labels.quantity(self.scale.label(self.field.symbol), self.field.name, self.unit)


@dataclass(frozen=True)
class Scene:
    """All data that a plot is made from."""

    quantities: tuple[Quantity, ...]
    view: View
    labels: Labels
    vector: tuple[SampledField, SampledField] | None = None
    resolution: int | None = None
    levels: int | None = None
    colorbar: bool = True
    band: float | None = None
    """Half the width of the band around a curve: the estimated error."""
    is_joint: bool = False
    """Whether curves of comparable size share one panel."""
    min_curve_points: int = 0
    """The minimum number of points of a curve in time, proportional to the number of time windows."""

    def panel_points(self, single: int, many: int, cuts: int) -> int:
        """Return the number of points along the longer side of a panel."""
        if self.resolution is not None:
            return self.resolution
        return single if cuts * len(self.quantities) == 1 else many

    def title(self, section: Section) -> str:
        """Return the fixed coordinates and their values as text."""
        coordinates = self.view.domain.coordinates
        return self.labels.fixed_values((coordinates[i], v) for i, v in sorted(section.fixed.items()))


class PlotKind(Protocol):
    """A way of drawing a scene, such as curves or maps."""

    def panels(self) -> Panels:
        """Return the panels that are needed."""

    def draw(self, axes: list[Axes]) -> None:
        """Draw on the axes of the panels."""


def unsuited_kind(kind: str, needs: str, view: View) -> ProblemError:
    """Return the error to raise if a kind of plot cannot show a view."""
    names = [str(view.domain.coordinates[i]) for i in view.space]
    got = ", ".join(
        [*names, *([f"{view.domain.coordinates[view.time]} (time)"] if view.time is not None else [])]
    )
    return ProblemError(
        f"kind={kind!r}",
        expected=needs,
        got=f"the free coordinates {got or 'none'}",
        remedy="Fix coordinates with at={…}, or omit kind.",
    )
