r"""Unknown functions in ``fit(unknown={k(x): (0, None)})``, replaced by coefficients of `Field` objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef, FunctionClass

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Expression, Number, Parameter, Unknown
from pibls.geometry import box_of
from pibls.inverse.data import Data
from pibls.inverse.link_function import link_function
from pibls.inverse.unknown_function import Field
from pibls.problem import Initial, Problem

_RANGE_MARGIN = 0.1  # of the range of the data, added on both sides, because the solution may exceed it
_BOUND_MARGIN = 0.05  # of the width of the bounds, which initial values keep from each bound


def expand_unknown_functions(
    unknown: Any, problems: Sequence[Problem], sets: Sequence[tuple[Data, ...]]
) -> tuple[Any, list[Problem], tuple[Field, ...]]:
    """Replace unknown functions by the coefficients of a `Field`.

    Returns the parameters to fit with their bounds, the problems in terms of these, and the fields.
    """
    if not isinstance(unknown, Mapping):
        return unknown, list(problems), ()
    out: dict[Parameter | Unknown, Any] = {}
    fields: list[Field] = []
    fields_by_function: dict[Unknown, Field] = {}
    for key, value in unknown.items():
        if isinstance(key, Field):
            fields.append(key)
            out.update(dict.fromkeys(key.symbols))
            continue
        function = _find_function(key, problems)
        if function is None:
            out[key] = value
            continue
        field = value if isinstance(value, Field) else _default_field(function, value, problems, sets)
        if len(field.ranges) != len(function.args):
            raise ProblemError(
                f"unknown[{function}]",
                expected=f"a Field of {len(function.args)} argument(s)",
                got=repr(field),
                remedy="Give one range for each argument.",
            )
        fields_by_function[function] = field
        fields.append(field)
        out.update(dict.fromkeys(field.symbols))
    return out, [_with_fields(p, fields_by_function) for p in problems], tuple(fields)


def _find_function(key: Unknown | str, problems: Sequence[Problem]) -> Unknown | None:
    """Return the function among the parameters of a problem that k(x), k or "k" refers to."""
    if not isinstance(key, (AppliedUndef, FunctionClass, str)):
        return None
    name = str(key).partition("(")[0] if isinstance(key, str) else key
    found = next((f for p in problems if (f := p.function_parameters.find(name)) is not None), None)
    if found is None and not isinstance(key, str):
        unknowns = [str(u.func) for p in problems for u in p.unknowns]
        mine = str(key.func) if isinstance(key, AppliedUndef) else str(key)
        raise ProblemError(
            f"unknown[{key}]",
            expected="a function with an initial value, other than the unknowns of the equations",
            got=f"{key}, which is an unknown of the equations" if mine in unknowns else f"{key}",
            remedy=f"Declare it: Problem(…, parameters={{{key}: 1.0}}).",
        )
    return found


def _replace_functions(problem: Problem, fields: Mapping[Unknown, Field]) -> Problem:
    """Return the problem with functions among its parameters replaced by fields."""
    stated = problem.function_parameters
    values = {**problem.parameters, **dict(stated.functions)}
    for f, block in fields.items():
        values[f] = block(*f.args)
        values.update(block.parameters)
    return Problem(problem.domain, stated.equations, stated.conditions, values)


def _with_fields(problem: Problem, fields_by_function: Mapping[Unknown, Field]) -> Problem:
    """Return the problem with its functions replaced by fields; cached for the same fields."""
    stated = problem.function_parameters
    mine = {f: b for g, b in fields_by_function.items() if (f := stated.find(g)) is not None}
    if not mine:
        return problem
    key = tuple((str(f), str(b.cache_key)) for f, b in mine.items())
    made = problem.symbolic_memo(_replace_functions, problem, mine, key=key)
    return made.at({s: v for s, v in problem.parameters.items() if s in made.parameters})


def _default_field(
    function: Unknown,
    bounds: tuple[Number, Number],
    problems: Sequence[Problem],
    sets: Sequence[tuple[Data, ...]],
) -> Field:
    """Return a field over the range of the arguments that starts from the value given in the problem."""
    own = [p for p in problems if p.function_parameters.find(function) is not None]
    ranges = [_argument_range(function, a, own, sets) for a in function.args]
    empty = Field(str(function.func), ranges, bounds=bounds, start=_value_within_bounds(function, bounds))
    value = dict(own[0].function_parameters.functions)[own[0].function_parameters.find(function)]
    placeholders = [sp.Dummy() for _ in function.args]
    inner = value.subs(dict(zip(function.args, placeholders, strict=True)), simultaneous=True)
    inner = inner.subs(dict(own[0].parameters))
    if inner.free_symbols - set(placeholders) or inner.atoms(AppliedUndef):
        raise ProblemError(
            f"parameters[{function}]",
            expected="an initial value in terms of its own arguments",
            got=str(value),
            remedy=f"Write parameters={{{function}: 1.0}}.",
        )
    evaluate = sp.lambdify(placeholders, inner, "numpy")
    link = empty.link
    width = link.high - link.low if np.isfinite(link.high - link.low) else 1.0

    def start(*points: Array) -> Array:
        there = np.broadcast_to(np.asarray(evaluate(*points), dtype=float), np.shape(points[0]))
        low, high = link.low + _BOUND_MARGIN * width, link.high - _BOUND_MARGIN * width
        return np.asarray(np.clip(there, low, high))

    constant = not inner.free_symbols
    first = float(start(np.zeros(1))[0]) if constant and len(placeholders) == 1 else start
    return Field(str(function.func), ranges, bounds=bounds, start=first)


def _value_within_bounds(function: Unknown, bounds: tuple[Number, Number]) -> float:
    """Return a number between the bounds."""
    link = link_function(bounds, str(function.func))
    if np.isfinite(link.low) and np.isfinite(link.high):
        return 0.5 * (link.low + link.high)
    return link.low + 1.0 if np.isfinite(link.low) else link.high - 1.0 if np.isfinite(link.high) else 0.0


def _argument_range(
    function: Unknown, argument: Expression, problems: Sequence[Problem], sets: Sequence[tuple[Data, ...]]
) -> tuple[float, float]:
    """Return the range of an argument.

    For a coordinate it is that of the domains, for an unknown that of its measured and initial values plus a
    margin.
    """
    if all(argument in p.coordinates for p in problems):
        ends = np.array([box_of(p.domain)[p.coordinates.index(argument)] for p in problems])
        return float(ends[:, 0].min()), float(ends[:, 1].max())
    sampled_values = [d.values for s in sets for d in s if d.expression == argument]
    if not sampled_values:
        raise ProblemError(
            f"unknown[{function}]",
            expected=f"coordinates as arguments, or an unknown with data that give the range of {argument}",
            got=str(function),
            remedy=f'Give the range: unknown={{{function}: pibls.Field("{function.func}", (low, high))}}.',
        )
    sampled_values += [v for p in problems for v in _initial_values(p, argument)]
    low, high = min(float(v.min()) for v in sampled_values), max(float(v.max()) for v in sampled_values)
    return _widened(low, high)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Return a range with a margin, also of a constant."""
    more = _RANGE_MARGIN * (high - low or abs(high) or 1.0)
    return low - more, high + more


def _initial_values(problem: Problem, u: Unknown) -> list[Array]:
    """Return the initial values of u at sample points."""
    X = problem.domain.interior(200, np.random.default_rng(0))
    out = []
    for c in problem.conditions:
        if isinstance(c, Initial) and c.expression == u and isinstance(c.value, (int, float, sp.Expr)):
            value = sp.sympify(c.value).subs(dict(problem.parameters))
            if not value.free_symbols - set(problem.coordinates) and not value.atoms(AppliedUndef):
                found = sp.lambdify(problem.coordinates, value, "numpy")(*X.T)
                out.append(np.atleast_1d(np.asarray(found, dtype=float)))
    return out
