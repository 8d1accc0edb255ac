"""Which jumps of coefficients have a meaning: what is refused when a problem is stated.

A coefficient of a highest derivative that jumps is refused unless it stands under its derivative: k u'' says
nothing about k u', which is what is continuous. Of k u' with u of first order it is u.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pibls.errors import ProblemError
from pibls.problem.forms.form import Form, Jet
from pibls.problem.interfaces.planes import SwitchBox, axes_of, jumps, sides_of


def check_jumps(forms: Sequence[Form], place: SwitchBox) -> None:
    """Raise a ProblemError where a coefficient of a highest derivative jumps outside of a flux."""
    order: dict[tuple[int, int], int] = {}
    total: dict[int, int] = {}
    for form in forms:
        for jet in form.jets:
            total[jet.unknown] = max(total.get(jet.unknown, 0), sum(jet.alpha))
            for axis, n in enumerate(jet.alpha):
                order[jet.unknown, axis] = max(order.get((jet.unknown, axis), 0), n)
    for form in forms:
        part = form.outside or form
        for switch in part.switches:
            axes = axes_of(switch, place)
            highest = [
                (jet, a) for jet, a in part.slopes if any(_is_highest(jet, i, order, total) for i in axes)
            ]
            sides = sides_of(switch, place) if highest else None
            for jet, a in highest:
                if total[jet.unknown] == 1 and not _is_transport(jet, form, place):
                    continue  # a u' with u of first order: u is continuous, and the product is defined
                if sides is not None and jumps([a], sides, place, bounded=switch.hidden):
                    g = place.written(switch.expression)
                    raise ProblemError(
                        form.name,
                        expected=f"a coefficient of {place.language.written(jet)} that does not jump",
                        got=f"one that jumps where {g} {'is whole' if switch.whole else '= 0'}",
                        remedy=_TRANSPORT if total[jet.unknown] == 1 else _KEPT,
                    )


_KEPT = (
    "Keep it under its derivative, where the flux is continuous: pibls.div(k*pibls.grad(u)) or "
    "sympy.Derivative(k*u.diff(x), x), which SymPy leaves as it stands (in a problem file "
    "diff(k*diff(u, x), x)); or divide by it."
)
_TRANSPORT = (
    "Keep it under its derivative if c*u is continuous, sympy.Derivative(c*u, x) (in a problem file "
    "diff(c*u, x)); divide the equation by it if u is."
)


def _is_transport(jet: Jet, form: Form, place: SwitchBox) -> bool:
    """Whether a derivative in space stands beside one in time: u_t + c u_x = 0.

    (c u).diff(x), where c u is continuous, is c u_x to SymPy, which may as well mean that u is continuous.
    """
    if place.language.time not in place.language.coordinates:
        return False
    time = place.language.coordinates.index(place.language.time)
    return not jet.alpha[time] and any(j.alpha[time] for j in form.jets)


def _is_highest(jet: Jet, axis: int, order: Mapping[tuple[int, int], int], total: Mapping[int, int]) -> bool:
    """Of the highest order across the axis, or of all: u_xy beside u_xx is what is left of (k u_y)_x."""
    n = jet.alpha[axis]
    return n > 0 and (n == order[jet.unknown, axis] or sum(jet.alpha) == total[jet.unknown])


def check_sources(forms: Sequence[Form], place: SwitchBox) -> None:
    """Raise a ProblemError where it is not said what a source on a plane makes jump.

    Of a(u) u'' = -δ it is not u' that jumps by a given height; of (a(u) u')' = -δ it is a(u) u'.
    """
    for form in forms:
        for axis in {axis for delta in form.deltas for axis, _ in delta.planes}:
            held = [f.form for f in form.fluxes if f.axis == axis]
            most = max((jet.alpha[axis] for jet in form.jets), default=0)
            bent = [j for j, _ in form.nonlinear if j.alpha[axis] == most > 0]
            if bent and not any(j.alpha[axis] == most - 1 for f in held for j in f.jets):
                raise ProblemError(
                    form.name,
                    expected=f"{place.language.written(bent[0])} only in a linear term, or under an outer "
                    "derivative, beside a DiracDelta",
                    got="a factor that depends on the solution",
                    remedy="Write what jumps by the strength of the source: pibls.div(k*pibls.grad(u)) or "
                    "sympy.Derivative(k*u.diff(x), x) with the k that depends on u "
                    "(in a problem file diff(k*diff(u, x), x)).",
                )
