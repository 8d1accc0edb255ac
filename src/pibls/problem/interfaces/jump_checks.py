"""Checks that reject discontinuous coefficients and delta sources whose meaning is undefined.

A discontinuous coefficient of a highest derivative is rejected unless it is under the derivative: k u'' does
not imply that k u' is continuous. In k u' with u of first order, u is continuous and the term is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pibls.errors import ProblemError
from pibls.expressions import Expression
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.discontinuities import (
    SwitchContext,
    has_jump,
    points_on_both_sides,
    switch_axes,
)
from pibls.problem.interfaces.switches import Switch


def check_jumps(forms: Sequence[Form], context: SwitchContext) -> None:
    """Raise a ProblemError if a coefficient of a highest derivative jumps outside a flux."""
    order: dict[tuple[int, int], int] = {}
    total: dict[int, int] = {}
    for form in forms:
        for derivative in form.derivatives:
            total[derivative.unknown] = max(total.get(derivative.unknown, 0), sum(derivative.alpha))
            for axis, n in enumerate(derivative.alpha):
                order[derivative.unknown, axis] = max(order.get((derivative.unknown, axis), 0), n)
    for form in forms:
        part = form.without_fluxes or form
        for switch in part.switches:
            axes = switch_axes(switch, context)
            highest = [
                (derivative, a)
                for derivative, a in part.linearization
                if any(_is_highest(derivative, i, order, total) for i in axes)
            ]
            # In a u' with u of first order, u is continuous and the product is defined.
            checked = [
                (derivative, a)
                for derivative, a in highest
                if total[derivative.unknown] != 1 or _is_transport(derivative, form, context)
            ]
            _check_switch(switch, checked, form.name, total, context)


def _check_switch(
    switch: Switch,
    terms: Sequence[tuple[PartialDerivative, Expression]],
    name: str,
    total: Mapping[int, int],
    context: SwitchContext,
) -> None:
    """Raise a ProblemError if the coefficient of one of the derivatives jumps at a switch."""
    sides = points_on_both_sides(switch, context) if terms else None
    if sides is None:
        return
    for derivative, a in terms:
        if has_jump([a], sides, context, bounded=switch.is_singular):
            g = context.in_user_symbols(switch.expression)
            term = context.symbols.sympy_derivative(derivative)
            raise ProblemError(
                name,
                expected=f"a coefficient of {term} that does not jump",
                got=f"one that jumps where {g} {'is an integer' if switch.at_integers else '= 0'}",
                remedy=_TRANSPORT_REMEDY if total[derivative.unknown] == 1 else _FLUX_FORM_REMEDY,
            )


_FLUX_FORM_REMEDY = (
    "Write it under the derivative, so that the flux is continuous: pibls.div(k*pibls.grad(u)) or "
    "sympy.Derivative(k*u.diff(x), x), which SymPy does not evaluate (in a problem file "
    "diff(k*diff(u, x), x)); or divide the equation by it."
)
_TRANSPORT_REMEDY = (
    "Write it under the derivative if c*u is continuous, sympy.Derivative(c*u, x) (in a problem file "
    "diff(c*u, x)); divide the equation by it if u is."
)


def _is_transport(derivative: PartialDerivative, form: Form, context: SwitchContext) -> bool:
    """Return whether it is a space derivative in an equation with a time derivative: u_t + c u_x = 0.

    SymPy expands (c u).diff(x) to c u_x for constant c, so that either c u or u may be continuous.
    """
    if context.symbols.time not in context.symbols.coordinates:
        return False
    time = context.symbols.coordinates.index(context.symbols.time)
    return not derivative.alpha[time] and any(j.alpha[time] for j in form.derivatives)


def _is_highest(
    derivative: PartialDerivative, axis: int, order: Mapping[tuple[int, int], int], total: Mapping[int, int]
) -> bool:
    """Return whether it has the highest order along the axis or in total, as u_xy in (k u_y)_x."""
    n = derivative.alpha[axis]
    return n > 0 and (
        n == order[derivative.unknown, axis] or sum(derivative.alpha) == total[derivative.unknown]
    )


def check_sources(forms: Sequence[Form], context: SwitchContext) -> None:
    """Raise a ProblemError if it is undefined what jumps by the strength of a delta source.

    For (a(u) u')' = -δ it is a(u) u'; for a(u) u'' = -δ the height of the jump of u' is undefined.
    """
    for form in forms:
        for axis in {axis for delta in form.deltas for axis, _ in delta.planes}:
            flux_forms = [f.form for f in form.fluxes if f.axis == axis]
            most = max((derivative.alpha[axis] for derivative in form.derivatives), default=0)
            nonlinear = [j for j, _ in form.nonlinear if j.alpha[axis] == most > 0]
            if nonlinear and not any(j.alpha[axis] == most - 1 for f in flux_forms for j in f.derivatives):
                term = context.symbols.sympy_derivative(nonlinear[0])
                raise ProblemError(
                    form.name,
                    expected=f"{term} only in a linear term, or under an "
                    "outer derivative, beside a DiracDelta",
                    got="a factor that depends on the solution",
                    remedy="Write the flux that jumps by the strength of the source: "
                    "pibls.div(k*pibls.grad(u)) or sympy.Derivative(k*u.diff(x), x) with k depending on u "
                    "(in a problem file diff(k*diff(u, x), x)).",
                )
