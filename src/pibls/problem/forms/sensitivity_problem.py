r"""The linear problem Σⱼ ∂F/∂Jⱼ ∂^αⱼ s + ∂F/∂k = 0 for the sensitivity s = ∂u/∂k.

Equations and conditions are differentiated with respect to the parameter, with the solution u as given data.
The result is linear in s, holds on the same regions and keeps the flux form. Its unknowns keep their names:
u denotes ∂u/∂k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import PointFunction
from pibls.errors import ProblemError
from pibls.expressions import Expression, Parameter, Unknown
from pibls.problem.arguments import ConditionValue
from pibls.problem.conditions import Condition, Dirichlet, Initial, Neumann, Periodic, Robin, dn, residual_of
from pibls.problem.forms.integral import integral
from pibls.problem.forms.known import is_known
from pibls.problem.interfaces.discontinuities import has_jump, points_on_both_sides
from pibls.problem.interfaces.switches import find_switches
from pibls.problem.problem import Problem
from pibls.runtime.pickling import ImplementedFunction

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition

Solved = Callable[[Unknown], PointFunction]
"""Maps ∂^α u (SymPy) to a function of the coordinate arrays, in the order of the problem."""


def sensitivity_problem(problem: Problem, parameter: Parameter, solved: Solved) -> Problem:
    """Return the problem for ∂u/∂k at a solution."""
    _refuse_moving_jumps(problem, parameter)
    work = _Linearization(problem, parameter, solved)
    equations = [work.of(residual_of(e, "equations")) for e in problem.equations]
    if any(len(delta.args) > 1 for e in equations for delta in e.atoms(sp.DiracDelta)):
        raise ProblemError(
            f"sensitivity({parameter})",
            expected="a parameter that does not move a point load",
            got="one that moves a DiracDelta",
            remedy=f"Use the difference of two solutions, pibls.sweep(problem, {{{parameter}: […, …]}}).",
        )
    conditions = [work.condition(c) for c in problem.conditions]
    residuals = [*equations, *(c.residual(problem.coordinates) for c in conditions)]
    there: set[Parameter] = set().union(*(r.free_symbols for r in residuals))
    values = {k: v for k, v in problem.parameters.items() if k in there}
    return Problem(problem.domain, equations, conditions, values)


_STEPS = (sp.Piecewise, sp.floor, sp.ceiling, sp.frac, sp.Mod)


def _refuse_moving_jumps(problem: Problem, parameter: Parameter) -> None:
    """Raise a ProblemError if the parameter moves a jump whose derivative SymPy takes as zero."""
    context = problem.switch_context()
    inner = context.variables.parameters[list(problem.parameters).index(parameter)]
    for statement in problem.statements:
        form = statement.form
        terms = set().union(*(e.atoms(*_STEPS) for e in (form.rest, *(a for _, a in form.linearization))))
        for term in sorted(terms, key=sp.default_sort_key):
            for switch in find_switches(term, context.variables.coordinates, ()):
                sides = (
                    points_on_both_sides(switch, context) if inner in switch.expression.free_symbols else None
                )
                if sides is not None and has_jump([term], sides, context):
                    raise ProblemError(
                        f"sensitivity({parameter})",
                        expected="a parameter that does not move jumps",
                        got=f"one that moves a jump in {statement.name}",
                        remedy="Write the jump with Heaviside(x - a), whose derivative is known, or replace "
                        "it by a steep smooth function such as tanh.",
                    )


class _Linearization:
    def __init__(self, problem: Problem, parameter: Parameter, solved: Solved) -> None:
        self._parameter = parameter
        self._coordinates = problem.coordinates
        self._known = {u: self._applied(u, solved) for u in problem.unknowns}

    def _applied(self, u: Unknown, solved: Solved) -> Expression:
        """Return u(x, y) as given data that can be differentiated, since its derivatives are given too."""
        coordinates = self._coordinates
        name = "_".join([str(u.func if isinstance(u, AppliedUndef) else u.expr.func), "known"])
        if isinstance(u, sp.Derivative):
            name += "_" + "".join(map(str, u.variables))

        def fdiff(self_: Expression, argindex: int = 1) -> Expression:
            return self._applied(sp.Derivative(u, coordinates[argindex - 1]), solved)

        # fdiff does not pickle; it is needed only while the problem is constructed.
        return ImplementedFunction.of(name, solved(u), transient={"fdiff": fdiff})(*coordinates)

    def of(self, e: Expression) -> Expression:
        """Return ∂e[u]/∂k + (∂e/∂u) s."""
        marks = {atom: sp.Dummy(real=True) for atom in _atoms(e)}
        plain = e.xreplace(marks)
        back = {mark: self.at_solution(atom) for atom, mark in marks.items()}
        terms = [_diff(plain, m).xreplace(back) * self._direction(a) for a, m in marks.items()]
        return sp.Add(_diff(plain, self._parameter).xreplace(back), *terms)

    def at_solution(self, e: Expression) -> Expression:
        """Return e[u] at the given solution."""
        return e.subs(self._known).doit()

    def _direction(self, atom: Expression) -> Expression:
        """Return the derivative of an atom in the direction s: ∂^α u ↦ ∂^α s, ∂F ↦ ∂F', dn(F) ↦ dn(F')."""
        if isinstance(atom, integral):
            return integral(self.of(atom.expression), atom.args[1])
        if isinstance(atom, dn):
            return dn(self.of(atom.args[0]))
        if isinstance(atom, sp.Derivative) and not isinstance(atom.expr, AppliedUndef):
            return sp.Derivative(self.of(atom.expr), *atom.variable_count)
        return atom

    def condition(self, c: BaseCondition) -> BaseCondition:
        match c:
            case Periodic():
                return c
            case Dirichlet() | Neumann():
                return type(c)(c.u, self._slope(c.value), c.on)
            case Robin() if self._slope(c.alpha) == self._slope(c.beta) == 0:
                return Robin(c.u, self._slope(c.value), c.alpha, c.beta, c.on)
            case Initial() if isinstance(_core(c.expression), AppliedUndef):
                return Initial(c.expression, self._slope(c.value))
            case Initial():
                return Initial(self.of(c.residual(self._coordinates)), 0)
        return Condition(self.of(c.residual(self._coordinates)), c.on)

    def _slope(self, value: ConditionValue) -> Expression:
        return _diff(value, self._parameter) if isinstance(value, sp.Expr) else sp.Integer(0)


def _diff(e: Expression, symbol: sp.Symbol) -> Expression:
    """Return ∂e/∂symbol with all symbols real, since SymPy does not differentiate sign of complex symbols."""
    real = {s: sp.Dummy(str(s), real=True) for s in {symbol, *e.free_symbols} if not s.is_real}
    slope = sp.diff(e.xreplace(real), real.get(symbol, symbol)).xreplace({d: s for s, d in real.items()})
    left = [d for d in slope.atoms(sp.Derivative, sp.Subs) if not is_known(d.expr)]
    if left:
        raise ProblemError(
            f"sensitivity({symbol})",
            expected="terms that SymPy can differentiate by it",
            got=left[0].expr,
            remedy="Use finite differences: pibls.sweep(problem, {k: [k0 - h, k0 + h]}).",
        )
    return slope


def _atoms(e: Expression) -> list[Expression]:
    """Return the outermost unknowns, derivatives, fluxes and integrals in an expression."""
    if isinstance(e, (sp.Derivative, dn, integral)) or (isinstance(e, AppliedUndef) and not is_known(e)):
        return [e]
    return list(dict.fromkeys(a for part in e.args for a in _atoms(part)))


def _core(e: Expression) -> Expression:
    return e.expr if isinstance(e, sp.Derivative) else e
