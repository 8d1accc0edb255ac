r"""Functions among the parameters of a problem N[u; k(x), f(u)] = 0, and their replacement by values.

A function parameter k(x) has an expression of its arguments as its value, which replaces it in the equations.
The original equations are kept, so that the value can be changed (`Problem.at`) or be unknown (`pibls.fit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import sympy as sp
from sympy.core.function import AppliedUndef, FunctionClass

from pibls.errors import ProblemError
from pibls.expressions import Equation, Expression, Number, Parameter, Unknown
from pibls.problem.arguments import ConditionValue
from pibls.problem.forms.known import is_known

if TYPE_CHECKING:
    from pibls.problem.conditions import BaseCondition


@dataclass(frozen=True)
class FunctionParameters:
    """Equations and conditions with function parameters, and the values of these."""

    equations: tuple[Equation, ...] = ()
    conditions: tuple[BaseCondition, ...] = ()
    functions: tuple[tuple[Unknown, ConditionValue], ...] = ()
    """(k(x), its value) of each."""

    def find(self, key: Unknown | str) -> Unknown | None:
        """Return the function parameter named by k(x), k or "k"; None if there is none."""
        name = str(key.func) if isinstance(key, AppliedUndef) else str(key)
        return next((f for f, _ in self.functions if str(f.func) == name), None)

    def with_values(
        self, values: Mapping[Unknown, ConditionValue]
    ) -> tuple[tuple[Equation, ...], tuple[BaseCondition, ...]]:
        """Return equations and conditions with the functions replaced by these values."""
        rules = tuple(values.items())
        equations = tuple(substitute_functions(e, rules) for e in self.equations)
        return equations, tuple(_condition(c, rules) for c in self.conditions)


def split_functions(
    parameters: Mapping[Parameter | Unknown, ConditionValue] | None,
) -> tuple[Mapping[Parameter, Number] | None, dict[Unknown, ConditionValue]]:
    """Return the parameters that are symbols and those that are functions."""
    if not isinstance(parameters, Mapping):
        return parameters, {}
    symbols = {k: v for k, v in parameters.items() if not isinstance(k, AppliedUndef)}
    functions = {k: v for k, v in parameters.items() if isinstance(k, AppliedUndef)}
    seen: set[str] = set()
    for f, value in functions.items():
        if is_known(f) or str(f.func) in seen or str(f.func) in map(str, symbols):
            raise ProblemError(
                f"parameters[{f}]",
                expected="a function without an implementation, each name once",
                got=str(f),
                remedy='Write k = sympy.Function("k")(x) and parameters={k: 1.0}.',
            )
        seen.add(str(f.func))
        functions[f] = _value(f, value)
    return symbols, functions


def check_functions(
    functions: Mapping[Unknown, ConditionValue],
    equations: Sequence[Equation],
    conditions: Sequence[BaseCondition],
) -> None:
    """Raise a ProblemError for a function parameter that no equation or condition contains."""
    there = {
        str(a.func)
        for e in (*equations, *(part for c in conditions for part in _parts(c)))
        if isinstance(e, sp.Basic)
        for a in e.atoms(AppliedUndef)
    }
    for f in functions:
        if str(f.func) not in there:
            raise ProblemError(
                f"parameters[{f}]",
                expected="a function that occurs in an equation or a condition",
                got=f"{f}, which occurs in none",
                remedy="Remove it, or check the spelling of its name.",
            )


def _value(f: Unknown, value: ConditionValue) -> Expression:
    """Return the value of f as an expression, after checking that it is one."""
    try:
        if isinstance(value, (str, bytes, bool, FunctionClass)) or value is None:
            raise TypeError
        expression = sp.sympify(value)
    except (TypeError, ValueError, sp.SympifyError):
        expression = None
    if not isinstance(expression, sp.Expr) or expression.has(sp.nan, sp.oo, sp.zoo, -sp.oo):
        raise ProblemError(
            f"parameters[{f}]",
            expected="a number, or a SymPy expression of its arguments",
            got=repr(value),
            remedy=f"Write parameters={{{f}: 1.0}}; give a Python function as pibls.known(function, …).",
        )
    return expression


def substitute_functions(e: ConditionValue, rules: Sequence[tuple[Unknown, Expression]]) -> ConditionValue:
    """Replace each f(s) by its value at s, also inside derivatives; other objects are returned unchanged."""
    if not isinstance(e, sp.Basic):
        return e
    for f, value in rules:
        if not any(a.func == f.func for a in e.atoms(AppliedUndef)):
            continue

        def at(*given: Expression, f: Unknown = f, value: Expression = value) -> Expression:
            if len(given) != len(f.args):
                raise ProblemError(
                    f"parameters[{f}]",
                    expected=f"{f.func} with {len(f.args)} argument(s) wherever it occurs",
                    got=f"{f.func}({', '.join(map(str, given))})",
                    remedy="Write it in the same way everywhere.",
                )
            return value.subs(dict(zip(f.args, given, strict=True)), simultaneous=True)

        e = e.replace(f.func, at)
        e = e.replace(_by_value, lambda n: n.doit())
    return e


def _by_value(node: Expression) -> bool:
    """Return whether a node is f'(s) at s = u, from f(u).diff(x), which is evaluated, unlike a flux."""
    if isinstance(node, sp.Derivative):
        return not all(isinstance(v, sp.Symbol) for v in node.variables)
    return isinstance(node, sp.Subs)


def _condition(condition: BaseCondition, rules: Sequence[tuple[Unknown, Expression]]) -> BaseCondition:
    named = _named(condition)
    changed = {name: substitute_functions(part, rules) for name, part in named.items()}
    changed = {name: part for name, part in changed.items() if part is not named[name]}
    return cast("BaseCondition", replace(cast(Any, condition), **changed)) if changed else condition


def _named(condition: BaseCondition) -> dict[str, ConditionValue]:
    if not is_dataclass(condition):
        return {}
    return {name: part for name, part in vars(condition).items() if name not in ("u", "x", "on")}


def _parts(condition: BaseCondition) -> tuple[ConditionValue, ...]:
    return tuple(_named(condition).values())
