"""Plot of the cells and time windows of a solution, coloured by their estimated error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Number
from pibls.geometry import box_of
from pibls.plot.backend import figure_of, matplotlib
from pibls.plot.drawing import check_cmap
from pibls.plot.labels import Labels
from pibls.plot.maps import limit_ticks, panel_sides
from pibls.plot.panels import Panels, axes_for
from pibls.plot.style_sheet import draw_frame, styled
from pibls.sampling import Section, computed_domain, fixed_values
from pibls.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

_EDGE_COLOUR = "0.25"
_FACE_COLOUR = "#dfe7ef"


@styled
def plot_cells(
    solution: Solution,
    *,
    at: Mapping[Coordinate | str, Number] | None = None,
    ax: Axes | None = None,
    units: Mapping[Expression | str, str] | None = None,
    cmap: str | None = None,
    colorbar: bool = True,
) -> Any:
    """Draw the cells and time windows into which the domain was divided; see `Solution.plot_cells`."""
    domain = computed_domain(solution)
    if cmap is not None:
        check_cmap(cmap)
    boxes = solution.space.cell_boxes(box_of(domain))
    section = _section(solution, fixed_values(domain, at))
    chosen = np.ones(len(boxes), dtype=bool)
    for axis, value in section.fixed.items():
        low, high = boxes[:, axis, 0], boxes[:, axis, 1]
        chosen &= (low <= value) & ((value < high) | (high == high.max()))
    errors = _errors(solution, len(boxes))
    (axes,), answer = axes_for(Panels.of(1, _panel_sides(section), bars=errors is not None and colorbar), ax)
    shown = _draw(
        axes, boxes[chosen][:, list(section.free)], None if errors is None else errors[chosen], cmap
    )
    _label_axes(axes, section, Labels.of(solution.problem, units))
    if errors is not None and colorbar:
        figure_of(axes).colorbar(shown, ax=axes, pad=0.02, aspect=24).set_label("estimated error in the cell")
    return answer


def _errors(solution: Solution, cells: int) -> Array | None:
    """Return the estimated error of each cell, or None if the solution has none."""
    given = solution.notes.get("cell_errors")
    errors = None if given is None else np.asarray(given, dtype=float)
    return errors if errors is not None and errors.shape == (cells,) else None


def _section(solution: Solution, fixed: Mapping[int, float]) -> Section:
    """Return a section with at most two free coordinates; further ones are fixed at their centre."""
    domain = computed_domain(solution)
    free = [i for i in range(len(domain.coordinates)) if i not in fixed]
    if not free:
        raise ProblemError(
            "at",
            expected="at least one free coordinate",
            got="values for all of them",
            remedy="Fix all but two.",
        )
    middle = box_of(domain).mean(axis=1)
    more = {i: float(middle[i]) for i in free[2:]}
    return Section(domain, tuple(free[:2]), {**fixed, **more})


def _panel_sides(section: Section) -> list[tuple[float, float]]:
    return [(1.0, 0.2)] if len(section.free) == 1 else panel_sides((section,))


def _draw(ax: Axes, boxes: Array, errors: Array | None, cmap: str | None) -> Collection:
    if boxes.shape[1] == 1:
        flat = np.broadcast_to(np.array([0.0, 1.0]), (len(boxes), 1, 2))
        boxes = np.concatenate([boxes, flat], axis=1)
    x, y = boxes[:, 0], boxes[:, 1]
    corners = np.stack(
        [np.stack([x[:, i], y[:, j]], axis=1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))], axis=1
    )
    thin = 0.8 if len(boxes) < 400 else 0.3
    shown: Collection = matplotlib("collections").PolyCollection(
        corners, edgecolors=_EDGE_COLOUR, linewidths=thin
    )
    if errors is None:
        shown.set_facecolor(_FACE_COLOUR)
    else:
        positive = errors[np.isfinite(errors) & (errors > 0)]
        low, high = (positive.min(), positive.max()) if len(positive) else (1e-16, 1.0)
        # A cell outside the domain has zero error and is not coloured.
        clipped = np.clip(np.nan_to_num(errors, nan=high, posinf=high), low, high)
        shown.set_array(np.ma.masked_where(errors == 0.0, clipped))
        shown.set_norm(matplotlib("colors").LogNorm(low, max(high, 1.0001 * low)))
        shown.set_cmap(cmap or "viridis")
    ax.add_collection(shown)
    return shown


def _label_axes(ax: Axes, section: Section, labels: Labels) -> None:
    ends = section.bounds
    coordinates = section.domain.coordinates
    draw_frame(ax)
    ax.set_xlim(*ends[0])
    ax.set_xlabel(labels.coordinate(section.symbols[0]))
    ax.set_title(
        labels.fixed_values((coordinates[i], v) for i, v in sorted(section.fixed.items())), fontsize="medium"
    )
    limit_ticks(ax)
    if len(ends) == 1:
        ax.set_ylim(0.0, 1.0)
        ax.set_yticks([])
        return
    ax.set_ylim(*ends[1])
    ax.set_ylabel(labels.coordinate(section.symbols[1]))
