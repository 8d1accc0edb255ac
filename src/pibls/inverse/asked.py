r"""unknown={D: (1, 10), k(x): (0, None)}: what is asked for; functions as blocks of parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef, FunctionClass

from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.inverse.data import Data
from pibls.inverse.field import Field
from pibls.inverse.link import link_of
from pibls.problem import Initial, Problem

_BEYOND = 0.1  # of the range of measured values: a law is needed there too, where the solution may go
_NEAR = 0.05  # of the width of the bounds: a value nearer to one of them is a poor place to begin at


def asked_for(
    unknown: Any, problems: Sequence[Problem], sets: Sequence[tuple[Data, ...]]
) -> tuple[Any, list[Problem], tuple[Field, ...]]:
    """The wanted parameters, with coefficients in the place of functions; the problems so; the functions."""
    if not isinstance(unknown, Mapping):
        return unknown, list(problems), ()
    out: dict[Any, Any] = {}
    fields: list[Field] = []
    blocks: dict[Any, Field] = {}
    for key, value in unknown.items():
        if isinstance(key, Field):
            fields.append(key)
            out.update(dict.fromkeys(key.symbols))
            continue
        function = _function(key, problems)
        if function is None:
            out[key] = value
            continue
        field = value if isinstance(value, Field) else _field(function, value, problems, sets)
        if len(field.ranges) != len(function.args):
            raise ProblemError(
                f"unknown[{function}]",
                expected=f"a Field of {len(function.args)} argument(s)",
                got=repr(field),
                remedy="Give one range for each argument.",
            )
        blocks[function] = field
        fields.append(field)
        out.update(dict.fromkeys(field.symbols))
    return out, [_with(p, blocks) for p in problems], tuple(fields)


def _function(key: Any, problems: Sequence[Problem]) -> Any:
    """The function among the parameters of a problem that is meant by k(x), k or "k"."""
    if not isinstance(key, (AppliedUndef, FunctionClass, str)):
        return None
    name = str(key).partition("(")[0] if isinstance(key, str) else key
    found = next((f for p in problems if (f := p.stated.find(name)) is not None), None)
    if found is None and not isinstance(key, str):
        unknowns = [str(u.func) for p in problems for u in p.unknowns]
        mine = str(key.func) if isinstance(key, AppliedUndef) else str(key)
        raise ProblemError(
            f"unknown[{key}]",
            expected="a function that has a value to begin with, beside the unknowns of the equations",
            got=f"{key}, which the equations determine" if mine in unknowns else f"{key}",
            remedy=f"Declare it: Problem(…, parameters={{{key}: 1.0}}).",
        )
    return found


def _with(problem: Problem, blocks: Mapping[Any, Field]) -> Problem:
    """The problem with blocks in the place of its functions; the same one for the same blocks."""
    stated = problem.stated
    mine = {f: b for g, b in blocks.items() if (f := stated.find(g)) is not None}
    if not mine:
        return problem
    key = f"with {[(str(f), b.key) for f, b in mine.items()]}"
    if key not in problem.structure:
        values = {**problem.parameters, **dict(stated.functions)}
        for f, block in mine.items():
            values[f] = block(*f.args)
            values.update(block.parameters)
        problem.structure[key] = Problem(problem.domain, stated.equations, stated.conditions, values)
    made: Problem = problem.structure[key]
    return made.at({s: v for s, v in problem.parameters.items() if s in made.parameters})


def _field(
    function: Any, bounds: Any, problems: Sequence[Problem], sets: Sequence[tuple[Data, ...]]
) -> Field:
    """A block over the range of the arguments, which begins at the value that the problem gives it."""
    own = [p for p in problems if p.stated.find(function) is not None]
    ranges = [_range(function, a, own, sets) for a in function.args]
    empty = Field(str(function.func), ranges, bounds=bounds, start=_inside(function, bounds))
    value = dict(own[0].stated.functions)[own[0].stated.find(function)]
    marks = [sp.Dummy() for _ in function.args]
    inner = value.subs(dict(zip(function.args, marks, strict=True)), simultaneous=True)
    inner = inner.subs(dict(own[0].parameters))
    if inner.free_symbols - set(marks) or inner.atoms(AppliedUndef):
        raise ProblemError(
            f"parameters[{function}]",
            expected="a value in its own arguments, to begin with",
            got=str(value),
            remedy=f"Write parameters={{{function}: 1.0}}.",
        )
    evaluate = sp.lambdify(marks, inner, "numpy")
    link = empty.link
    width = link.high - link.low if np.isfinite(link.high - link.low) else 1.0

    def start(*points: Any) -> Any:
        there = np.broadcast_to(np.asarray(evaluate(*points), dtype=float), np.shape(points[0]))
        return np.clip(there, link.low + _NEAR * width, link.high - _NEAR * width)

    constant = not inner.free_symbols
    first = float(start(np.zeros(1))[0]) if constant and len(marks) == 1 else start
    return Field(str(function.func), ranges, bounds=bounds, start=first)


def _inside(function: Any, bounds: Any) -> float:
    """Any number between the bounds."""
    link = link_of(bounds, str(function.func))
    if np.isfinite(link.low) and np.isfinite(link.high):
        return 0.5 * (link.low + link.high)
    return link.low + 1.0 if np.isfinite(link.low) else link.high - 1.0 if np.isfinite(link.high) else 0.0


def _range(
    function: Any, argument: Any, problems: Sequence[Problem], sets: Sequence[tuple[Data, ...]]
) -> tuple[float, float]:
    """Of a coordinate that of the domains; of an unknown that of measured and initial values, and a bit."""
    if all(argument in p.coordinates for p in problems):
        ends = [box_of(p.domain)[p.coordinates.index(argument)] for p in problems]
        return float(min(a for a, _ in ends)), float(max(b for _, b in ends))
    seen = [d.values for s in sets for d in s if d.expression == argument]
    if not seen:
        raise ProblemError(
            f"unknown[{function}]",
            expected=f"coordinates as arguments, or an unknown with data, which tell the range of {argument}",
            got=str(function),
            remedy=f'Give the range: unknown={{{function}: pibls.Field("{function.func}", (low, high))}}.',
        )
    seen += [v for p in problems for v in _beginnings(p, argument)]
    low, high = min(float(v.min()) for v in seen), max(float(v.max()) for v in seen)
    more = _BEYOND * (high - low or abs(high) or 1.0)
    return low - more, high + more


def _beginnings(problem: Problem, u: Any) -> list[Any]:
    """The values of u at the start, at some points."""
    X = problem.domain.interior(200, np.random.default_rng(0))
    out = []
    for c in problem.conditions:
        if isinstance(c, Initial) and c.expression == u and isinstance(c.value, (int, float, sp.Expr)):
            value = sp.sympify(c.value).subs(dict(problem.parameters))
            if not value.free_symbols - set(problem.coordinates) and not value.atoms(AppliedUndef):
                found = sp.lambdify(problem.coordinates, value, "numpy")(*X.T)
                out.append(np.atleast_1d(np.asarray(found, dtype=float)))
    return out
