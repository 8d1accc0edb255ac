"""The function `plot`: build a scene from a solution and draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Number
from pibls.plot.backend import matplotlib
from pibls.plot.colours import Sequential
from pibls.plot.labels import Labels
from pibls.plot.panels import axes_for
from pibls.plot.plot_kinds import plot_kind
from pibls.plot.scene import Quantity, Scene
from pibls.plot.style_sheet import styled
from pibls.plot.vectors import magnitude
from pibls.plot.view import View
from pibls.sampling import SampledField, computed_domain, fields_of
from pibls.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS_PER_WINDOW = 12


@styled
def plot(
    solution: Solution,
    *what: Expression,
    kind: str | None = None,
    vector: tuple[Expression, Expression] | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    **options: Any,
) -> Any:
    """Draw the unknowns, or any expressions of them; see `Solution.plot`.

    ``options`` are the keyword arguments of `scene_of`.
    """
    scene = scene_of(solution, *quantities_of(solution, what, vector), **options)
    return draw(joint_scene(scene, what, ax), kind, ax)


def joint_scene(
    scene: Scene, what: tuple[Expression, ...] = (), ax: Axes | Sequence[Axes] | None = None
) -> Scene:
    """Return the scene, with one panel for the unknowns of a system of ordinary differential equations.

    Unknowns that were named in ``what``, or for which several ``ax`` were given, have a panel each.
    """
    panels = 1 if ax is None else np.size(np.asarray(ax, dtype=object))
    is_joint = len(scene.view.domain.coordinates) == 1 and not what and panels == 1
    return replace(scene, is_joint=is_joint)


def draw(scene: Scene, kind: str | None, ax: Axes | Sequence[Axes] | None) -> Any:
    """Draw a scene on the given axes or on new ones, and return the axes."""
    picture = plot_kind(scene, kind)
    axes, answer = axes_for(picture.panels(), ax)
    picture.draw(axes)
    return answer


def quantities_of(
    solution: Solution, what: tuple[Expression, ...], vector: tuple[Expression, Expression] | None
) -> tuple[tuple[Quantity, ...], tuple[SampledField, SampledField] | None]:
    """Return the quantities shown as colours or curves, and the components of the vector field."""
    components = None if vector is None else _components(solution, what, vector)
    fields = fields_of(solution, what) if components is None else (magnitude(*components),)
    unknowns = solution.problem.unknowns
    of_unit = fields if components is None else components
    return tuple(
        Quantity(f, Sequential(), g.name if g.expression in unknowns else None)
        for f, g in zip(fields, of_unit, strict=False)
    ), components


def scene_of(
    solution: Solution,
    quantities: tuple[Quantity, ...],
    vector: tuple[SampledField, SampledField] | None = None,
    *,
    at: Mapping[Coordinate | str, Number] | None = None,
    times: int | Sequence[float] | None = None,
    units: Mapping[Expression | str, str] | None = None,
    resolution: int | None = None,
    levels: int | None = None,
    cmap: str | None = None,
    colorbar: bool = True,
    band: bool = False,
) -> Scene:
    """Return the scene of these quantities, after checking the options."""
    problem = solution.problem
    for name, value, least in (("resolution", resolution, 8), ("levels", levels, 1)):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, SupportsIndex) or value < least
        ):
            raise ProblemError(
                name,
                expected=f"a whole number of at least {least}",
                got=repr(value),
                remedy=f"Omit {name}.",
            )
    if cmap is not None:
        check_cmap(cmap)
        quantities = tuple(replace(q, scale=replace(q.scale, cmap=cmap, is_fixed=True)) for q in quantities)
    return Scene(
        quantities,
        View.of(computed_domain(solution), at, times),
        Labels.of(problem, units),
        vector,
        None if resolution is None else int(resolution),
        None if levels is None else int(levels),
        colorbar,
        _error_band(solution, quantities) if band else None,
        min_curve_points=_POINTS_PER_WINDOW * len(solution.windows),
    )


def check_cmap(name: object) -> None:
    """Raise a `ProblemError` unless this is a Matplotlib colour map or the name of one."""
    known = matplotlib("pyplot").colormaps()
    if name not in known and not isinstance(name, matplotlib("colors").Colormap):
        close = get_close_matches(str(name), known, n=1)
        raise ProblemError(
            "cmap",
            expected="the name of a colour map of matplotlib",
            got=repr(name),
            remedy=f"Did you mean {close[0]}?" if close else "Write viridis, cividis or RdBu_r.",
        )


def _error_band(solution: Solution, quantities: tuple[Quantity, ...]) -> float:
    if any(q.field.expression not in solution.problem.unknowns for q in quantities):
        raise ProblemError(
            "band",
            expected="unknowns of the problem, whose error is estimated",
            got=", ".join(q.field.name for q in quantities),
            remedy="Omit band for other expressions.",
        )
    return solution.error.max


def _components(
    solution: Solution, what: tuple[Expression, ...], vector: tuple[Expression, Expression] | None
) -> tuple[SampledField, SampledField]:
    if what:
        raise ProblemError(
            "vector",
            expected="nothing else to draw beside a vector",
            got=", ".join(map(str, what)),
            remedy="Draw it in a separate plot.",
        )
    if not isinstance(vector, (tuple, list, np.ndarray)) or len(vector) != 2:
        raise ProblemError(
            "vector",
            expected="two components (u, v)",
            got=repr(vector),
            remedy="For a vector in space, choose the two components in the plane that is shown.",
        )
    u, v = fields_of(solution, list(vector))
    return u, v
