"""Plots of the error u - u* and of the residual N[u] - f over the domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pibls.errors import ProblemError
from pibls.plot.colours import ColourScale, Magnitude, Signed
from pibls.plot.drawing import draw, scene_of
from pibls.plot.scene import Quantity
from pibls.plot.style_sheet import styled
from pibls.problem.conditions import residual_of
from pibls.problem.forms.known import as_expression
from pibls.sampling import SampledField
from pibls.solution import Solution
from pibls.text.typeset import name_latex

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@styled
def plot_error(
    solution: Solution,
    exact: Any = None,
    *,
    log: bool = False,
    kind: str | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    **options: Any,
) -> Any:
    """Draw the error u - u* against a known solution u*; see `Solution.plot_error`."""
    if exact is None:
        raise ProblemError(
            "plot_error(exact)",
            expected="the exact solution to compare with",
            got="none",
            remedy="Without one, use solution.error for an estimate, and plot_residual() to locate it.",
        )
    scale: ColourScale = Magnitude() if log else Signed()
    quantities = []
    for u, known in _exact_by_unknown(solution, exact):
        symbol = name_latex(str(u.func))
        mark = "^" if "_" in symbol else "_"
        difference = u - as_expression(known, solution.problem.coordinates, "exact")
        label = rf"{symbol} - {symbol}{mark}{{\mathrm{{exact}}}}"
        quantities.append(
            Quantity(SampledField(solution, difference, f"error of {u.func}", label), scale, str(u.func))
        )
    return draw(scene_of(solution, tuple(quantities), **options), kind, ax)


@styled
def plot_residual(
    solution: Solution,
    *,
    log: bool = False,
    kind: str | None = None,
    ax: Axes | Sequence[Axes] | None = None,
    **options: Any,
) -> Any:
    """Draw the residual N[u] - f of each equation; see `Solution.plot_residual`."""
    scale: ColourScale = Magnitude() if log else Signed()
    equations = solution.problem.equations
    quantities = []
    for i, equation in enumerate(equations):
        number = f" {i + 1}" if len(equations) > 1 else ""
        label = rf"\mathrm{{residual{number.replace(' ', chr(92) + ' ')}}}"
        field = SampledField(solution, residual_of(equation, "equations"), f"residual{number}", label)
        quantities.append(Quantity(field, scale))
    return draw(scene_of(solution, tuple(quantities), **options), kind, ax)


def _exact_by_unknown(solution: Solution, exact: Any) -> list[tuple[Any, Any]]:
    unknowns = solution.problem.unknowns
    names = ", ".join(str(u.func) for u in unknowns)
    if isinstance(exact, Mapping):
        return [(solution[u].unknown, value) for u, value in exact.items()]
    if len(unknowns) > 1:
        raise ProblemError(
            "exact",
            expected=f"a dictionary {{unknown: exact solution}} for {names}",
            got=repr(exact),
            remedy=f"Write {{{unknowns[0].func}: …}}; not all unknowns are needed.",
        )
    return [(unknowns[0], exact)]
