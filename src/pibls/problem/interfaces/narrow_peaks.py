"""Location of peaks, steps and poles f(g(x)) that are too narrow for sampling, from their inner functions g.

exp(-((x - a)/w)²) may be arbitrarily narrow, but its inner function -((x - a)/w)² varies over the whole
domain. Validation points are added near its extrema (`adaptive.validation.data_scan`). For functions of one
coordinate, peaks, steps and poles are where the inner function or its derivative is zero: cells and time
windows end there, as at a switch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.expressions import Coordinate, Expression, Logical, Parameter
from pibls.problem.forms.compiled_expressions import Program, compile_expressions
from pibls.problem.forms.form import Form
from pibls.problem.interfaces.discontinuities import (
    Discontinuities,
    Plane,
    SwitchContext,
    coefficient_expressions,
    switch_levels,
)

NARROW_WIDTH = 5e-4
"""Fraction of the box; wider features are found by the scan with 10,000 points."""
_STEEP = (sp.exp, sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch, sp.erf, sp.erfc, sp.atan)
_SLOW = (sp.sin, sp.cos, sp.asinh, sp.sinc)  # not localized, but their inner functions are scanned too
_JUMP_SLOPE = 10**9
"""Slope that represents the jump of a condition."""
_MAX_LEVELS = 24  # along one coordinate; if there are more, sampling finds some
_SIGNIFICANT_CHANGE = 0.3  # of its size: change of a function within its width
_NEGLIGIBLE_CHANGE = 1e-15  # of its size: change of a function outside its feature
_SAMPLES = np.linspace(0.0, 1.0, 257)
_SMALL_BASE = 1e-2  # of its size: the base of a power with a narrow pole or peak is smaller somewhere
_DISTANCES = 2.0 ** np.arange(-40, 0)  # of the box: from a level, where functions are evaluated


def _steep(e: sp.Basic, *others: type[sp.Basic]) -> Iterator[Expression]:
    """Yield the functions in an expression that may be steep, and powers that may be singular."""
    for f in sp.preorder_traversal(e):
        if isinstance(f, (*_STEEP, *others)) or (isinstance(f, sp.Pow) and _may_be_infinite(f)):
            yield f


def _may_be_infinite(power: Expression) -> bool:
    return not (power.exp.free_symbols or (power.exp.is_integer and power.exp.is_positive))


def inner_functions(
    expressions: Iterable[Expression], coordinates: Collection[Coordinate], parameters: Collection[Parameter]
) -> tuple[Expression, ...]:
    """Return the inner functions g, for the scan for validation points; only those of the coordinates alone.

    They are the arguments of steep and oscillating functions, log|g| for a power of g, and for `Piecewise`
    the margins of its conditions.
    """
    own, allowed = set(coordinates), {*coordinates, *parameters}
    found: dict[Expression, None] = {}
    for e in (e for e in expressions if e.free_symbols & own):
        for f in _steep(e, *_SLOW, sp.Piecewise):
            if isinstance(f, sp.Piecewise):
                inside = [
                    _JUMP_SLOPE * margin for _, c in f.args if (margin := _condition_margin(c)) is not None
                ]
            else:
                inside = [sp.log(sp.Abs(f.base)) if isinstance(f, sp.Pow) else f.args[0]]
            for g in inside:
                if g.free_symbols & own and g.free_symbols <= allowed and not g.is_Symbol:
                    found[g] = None
    return tuple(found)


def _condition_margin(condition: Logical) -> Expression:
    """Return a function that is positive where the condition of a `Piecewise` branch holds, else negative.

    For a > b it is a - b, for "and" and "or" the minimum and maximum. None for equalities.
    """
    if isinstance(condition, (sp.And, sp.Or)):
        parts = [_condition_margin(part) for part in condition.args]
        together = sp.Min if isinstance(condition, sp.And) else sp.Max
        return None if None in parts else together(*parts)
    if isinstance(condition, sp.Rel) and condition.rel_op in ("<", "<=", ">", ">="):
        return condition.gts - condition.lts
    return None


@dataclass(frozen=True)
class NarrowCandidates:
    """Inner functions of steep functions and poles of one coordinate, for all values of the parameters."""

    poles: tuple[bool, ...]
    inner: Program

    @classmethod
    def of(cls, forms: Sequence[Form], context: SwitchContext) -> NarrowCandidates:
        """Return the candidates in the given forms (residuals of equations and conditions).

        ``context`` has the coordinates, the box and the parameters of the problem.
        """
        v = context.variables
        given = [e for form in forms for e in _form_expressions(form)]
        found = {
            (f.args[0], f.is_Pow): None
            for x in v.coordinates
            for f in _steep_functions_of(given, x, v.parameters)
        }
        inner, poles = zip(*found, strict=True) if found else ((), ())
        return cls(poles, compile_expressions([*v.coordinates, *v.parameters], list(inner)))

    def may_be_narrow(self, context: SwitchContext) -> bool:
        """Return whether one of them may be narrow at these parameter values, judged by its range."""
        if not self.poles:
            return False
        box = context.box
        X = box[:, :1] + _SAMPLES * (box[:, 1:] - box[:, :1])
        with np.errstate(all="ignore"):
            g = np.array([values + 0.0 * X[0] for values in self.inner(*X, *context.parameter_values)])
            size = np.abs(g)
            small = size.min(axis=1) < _SMALL_BASE * size.max(axis=1)
            long = ~_has_small_range(g)
        return not np.isfinite(size.sum()) or bool(np.where(self.poles, small, long).any())


def narrow_planes(form: Form, context: SwitchContext) -> Discontinuities:
    """Return planes at the centres and ends of the narrow features of an equation or condition."""
    found: dict[tuple[int, float], None] = {}
    given = [context.with_parameters(e) for e in _form_expressions(form)]
    for axis, x in enumerate(context.variables.coordinates):
        low, high = (float(v) for v in context.box[axis])
        steep = list(_steep_functions_of(given, x))
        inner = [f.args[0] for f in steep if f.is_Pow or _has_large_range(f.args[0], x, low, high)]
        levels = {c for g in inner for h in (g, g.diff(x)) for c in switch_levels(h, False, axis, context)}
        if 0 < len(levels) <= _MAX_LEVELS:
            functions = compile_expressions([x], steep)
            for level in sorted(levels):
                found |= {
                    (axis, c): None for c in _feature_levels(functions, level, low, high) if low < c < high
                }
    return Discontinuities(
        tuple(Plane(axis, level, coefficient_jumps=False) for axis, level in sorted(found))
    )


def _form_expressions(form: Form) -> list[Expression]:
    return [e for part in (form, *(f.form for f in form.fluxes)) for e in coefficient_expressions(part)]


def _steep_functions_of(
    expressions: Iterable[Expression], x: Coordinate, parameters: Collection[Parameter] = ()
) -> dict[Expression, None]:
    """Return the steep functions of x only; exp(a + b) is a product of which each factor may be narrow."""
    found: dict[Expression, None] = {}
    for f in (f for e in expressions for f in _steep(e)):
        g = f.args[0]
        if isinstance(f, sp.exp) and len(g.free_symbols) > 1:
            g = sp.Add(*(a for a in sp.Add.make_args(sp.expand_mul(g)) if x in a.free_symbols))
        if g.free_symbols - set(parameters) == {x}:
            found[f.func(g, *f.args[1:])] = None
    return found


def _has_large_range(g: Expression, x: Coordinate, low: float, high: float) -> bool:
    with np.errstate(all="ignore"):
        values = compile_expressions([x], [g])(np.linspace(low, high, 9))[0]
    return not _has_small_range(np.atleast_1d(values))


def _has_small_range(values: Array) -> Mask:
    """Return whether the range of an inner function is too small for a feature narrower than NARROW_WIDTH."""
    is_small: Mask = np.ptp(values, axis=-1) < _SIGNIFICANT_CHANGE / (4.0 * NARROW_WIDTH)
    return is_small


def _feature_levels(functions: Program, level: float, low: float, high: float) -> list[float]:
    """Return the level and the ends of a narrow feature around it; nothing if there is none."""
    found: list[float] = []
    sides = [np.clip(level + sign * _DISTANCES * (high - low), low, high) for sign in (-1.0, 1.0)]
    with np.errstate(all="ignore"):
        values = [np.array([v + 0.0 * t for v in functions(t)]) for t in (*sides, np.array([level]))]
    for *beside, here in zip(*values, strict=True):
        size = np.abs([*beside[0], *beside[1], *here]).max()
        near = np.array([side[_DISTANCES <= NARROW_WIDTH] for side in beside])
        if not np.isfinite(size) or np.abs(near - here).max() <= _SIGNIFICANT_CHANGE * size:
            continue
        found.append(level)
        for t, side in zip(sides, beside, strict=True):
            over = 1 + np.flatnonzero(np.abs(np.diff(side)) > _NEGLIGIBLE_CHANGE * size).max(initial=-1)
            found += [float(t[over])] if 0 < over < len(t) - 1 else []
    return found
