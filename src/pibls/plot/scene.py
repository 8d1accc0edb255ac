"""What is to be seen, before it is decided how: quantities, sections, labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.plot.canvas import Panels
from pibls.plot.colours import ColourScale
from pibls.plot.labels import Labels
from pibls.plot.view import View
from pibls.sampling import Sampled, Section


@dataclass(frozen=True)
class Quantity:
    """A field and the scale on which it is shown."""

    field: Sampled
    scale: ColourScale
    unit: str | None = None
    """The unknown whose unit it has, by name."""

    def values(self, section: Section, P: Array) -> Array:
        """What is shown at points P of a section."""
        return self.scale.shown(self.field(section.points(P)))

    def suited(self, values: list[Array]) -> Quantity:
        """On the scale that suits all these values, so that panels can be compared."""
        return replace(self, scale=self.scale.suited(np.concatenate(values)))

    def norm(self, values: list[Array]) -> Any:
        """One norm for all these values."""
        return self.scale.norm(*self.scale.limits(np.concatenate(values)))

    def label(self, labels: Labels) -> str:
        return labels.quantity(self.scale.label(self.field.symbol), self.field.name, self.unit)


@dataclass(frozen=True)
class Scene:
    """All that a picture is made from."""

    quantities: tuple[Quantity, ...]
    view: View
    labels: Labels
    vector: tuple[Sampled, Sampled] | None = None
    resolution: int | None = None
    levels: int | None = None
    colorbar: bool = True
    band: float | None = None
    """Half the width of the band around a curve: the estimated error."""
    fine: int = 0
    """Points that a curve in time needs at least: an evolution in many windows has much to show."""

    def nodes(self, single: int, many: int, cuts: int) -> int:
        """Points along the longer side of a panel."""
        if self.resolution is not None:
            return self.resolution
        return single if cuts * len(self.quantities) == 1 else many

    def title(self, section: Section) -> str:
        """The coordinates that are fixed, and where."""
        coordinates = self.view.domain.coordinates
        return self.labels.places((coordinates[i], v) for i, v in sorted(section.fixed.items()))


class Picture(Protocol):
    """One way of drawing a scene."""

    def panels(self) -> Panels:
        """The axes that it needs."""

    def draw(self, axes: list[Any]) -> None:
        """Draw on these."""


def unsuited(kind: str, needs: str, view: View) -> ProblemError:
    """What to raise where a kind of picture cannot show a view."""
    names = [str(view.domain.coordinates[i]) for i in view.space]
    got = ", ".join(
        [*names, *([f"{view.domain.coordinates[view.time]} (time)"] if view.time is not None else [])]
    )
    return ProblemError(
        f"kind={kind!r}",
        expected=needs,
        got=f"the free coordinates {got or 'none'}",
        remedy="Fix coordinates with at={…}, or leave kind out.",
    )
