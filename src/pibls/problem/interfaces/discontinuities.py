"""Location of the planes x_i = c and surfaces g(x) = 0 where coefficients and sources are not smooth.

The solution is smooth on either side but not across, so that faces of cells are placed there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression, Parameter
from pibls.geometry.faces.face import bisect
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.form import DeltaSource, Form, InternalSymbols, SymbolTable
from pibls.problem.interfaces.switches import Switch
from pibls.runtime.caching import cached_property

_SAMPLES = 2048
_PAIRS = 64
_MAX_PLANES = 1000  # of one switch
_MIN_JUMP = 1e-6  # relative
_MIN_DISTANCE = 1e-12  # of the box: planes closer to each other, or to its sides, are identified
_FAR_FACTOR = 2.0**22  # of the distance of the two sides: distance of the points that give the scale
_ZOOM_STEPS = 20  # towards the minimum of |g|, where g may change its sign
_CANDIDATES = 24  # points around which the minimum is searched
_SINGULAR_GROWTH = 2.0  # values larger by this factor than further away are taken as singular
_ROOT_ULPS = 16  # floating-point numbers by which a computed root may be wrong


@dataclass(frozen=True)
class Plane:
    """The plane x_axis = level; ``coefficient_jumps`` if a coefficient of a flux jumps there."""

    axis: int
    level: float
    coefficient_jumps: bool


@dataclass(frozen=True)
class CurvedInterface:
    """The surface g = 0, not a coordinate plane; g in the symbols of the user."""

    expression: Expression
    coefficient_jumps: bool


@dataclass(frozen=True)
class LocatedSource:
    """A source strength · Π δ(x_axis - level) with numerical levels."""

    planes: tuple[tuple[int, float], ...]
    strength: Form


@dataclass(frozen=True)
class Discontinuities:
    """Where a problem, or one statement of it, is not smooth inside the domain."""

    planes: tuple[Plane, ...] = ()
    curved: tuple[CurvedInterface, ...] = ()
    sources: tuple[LocatedSource, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.planes or self.curved or self.sources)

    def __or__(self, other: Discontinuities) -> Discontinuities:
        levels = {(p.axis, p.level): p.coefficient_jumps for p in self.planes}
        for p in other.planes:
            levels[p.axis, p.level] = p.coefficient_jumps or levels.get((p.axis, p.level), False)
        return Discontinuities(
            tuple(Plane(axis, level, flux) for (axis, level), flux in sorted(levels.items())),
            tuple(dict.fromkeys((*self.curved, *other.curved))),
            (*self.sources, *other.sources),
        )

    def distinct(self, box: Array) -> Discontinuities:
        """Merge planes that differ by rounding, such as those of Max(1, sign(x)) and sign(x)."""
        loaded = {plane for source in self.sources for plane in source.planes}
        planes = list[Plane]()
        for p in self.planes:
            last = planes[-1] if planes and planes[-1].axis == p.axis else None
            if (
                last is not None
                and p.level - last.level < _MIN_DISTANCE * float(np.ptp(box[p.axis]))
                and not {(p.axis, p.level), (p.axis, last.level)} <= loaded
            ):
                kept = last if (p.axis, last.level) in loaded else p
                planes[-1] = Plane(p.axis, kept.level, p.coefficient_jumps or last.coefficient_jumps)
            else:
                planes.append(p)
        return replace(self, planes=tuple(planes))


@dataclass(frozen=True)
class SwitchContext:
    """Bounding box, symbols and parameter values with which switches are located."""

    symbols: SymbolTable
    parameter_values: tuple[float, ...]
    box: Array

    @cached_property
    def variables(self) -> InternalSymbols:
        return self.symbols.variables

    def with_parameters(self, e: Expression) -> Expression:
        """Return an expression with the values of the parameters substituted."""
        return e.xreplace(
            dict(zip(self.variables.parameters, map(_exact, self.parameter_values), strict=True))
        )

    def in_user_symbols(self, e: Expression) -> Expression:
        """Return an expression in the symbols of the user."""
        ours, theirs = self.symbols.coordinates, self.symbols.parameters
        v = self.variables
        return e.xreplace(dict(zip((*v.coordinates, *v.parameters), (*ours, *theirs), strict=True)))


def discontinuities_of(form: Form, context: SwitchContext) -> Discontinuities:
    """Return the planes and surfaces inside the box where one statement is not smooth."""
    found = Discontinuities(sources=tuple(_located(d, context) for d in form.deltas))
    for axis, level in (p for source in found.sources for p in source.planes):
        # If the statement has a flux along the axis, the flux jumps by the strength.
        found |= Discontinuities(
            (Plane(axis, level, coefficient_jumps=any(f.axis == axis for f in form.fluxes)),)
        )
    found |= Discontinuities(
        tuple(Plane(axis, level, coefficient_jumps=False) for axis, level in _declared_planes(form, context))
    )
    for switch in form.switches:
        found |= _switch_discontinuities(switch, form, context)
    return found


def _switch_discontinuities(switch: Switch, form: Form, context: SwitchContext) -> Discontinuities:
    """Return the planes or the surface on which one switching function of a statement is zero."""
    axes, g = switch_axes(switch, context), context.with_parameters(switch.expression)
    fluxes = [coefficient_expressions(f.form) for f in form.fluxes if f.axis in axes]
    sides = points_on_both_sides(switch, context)
    if switch.is_singular:
        every = [*coefficient_expressions(form), *(e for expressions in fluxes for e in expressions)]
        if sides is None or not has_jump(every, sides, context, bounded=True):
            return Discontinuities()
    flux = sides is not None and any(has_jump(expressions, sides, context) for expressions in fluxes)
    if len(axes) == 1:
        levels = switch_levels(g, switch.at_integers, axes[0], context)
        if len(levels) > _MAX_PLANES:
            raise ProblemError(
                form.name,
                expected=f"at most {_MAX_PLANES} planes inside the domain where it is not smooth",
                got=f"{context.in_user_symbols(switch.expression)}, which has more of them",
                remedy="Replace a rapid oscillation by its mean value, or use a smaller domain.",
            )
        return Discontinuities(tuple(Plane(axes[0], x, flux) for x in levels))
    if sides is None:
        return Discontinuities()
    return Discontinuities(curved=(CurvedInterface(context.in_user_symbols(switch.expression), flux),))


def _declared_planes(form: Form, context: SwitchContext) -> Iterator[tuple[int, float]]:
    """Yield (axis, level) of the declared discontinuities of Python functions inside the box."""
    for axis, level in (plane for data_function in form.data for plane in data_function.breaks):
        low, high = context.box[axis]
        margin = _MIN_DISTANCE * (high - low)
        if low + margin < level < high - margin:
            yield axis, level


def refuse_unsupported_sources(
    breaks: Discontinuities, coordinates: Sequence[Coordinate], box: Array
) -> None:
    """Raise a ProblemError for delta sources that are not supported or not defined."""
    for axis, level in (plane for s in breaks.sources for plane in s.planes):
        if level in box[axis]:
            raise ProblemError(
                "problem",
                expected="a DiracDelta inside the domain",
                got=f"one at its end, {coordinates[axis]} = {level:g}",
                remedy="A source on the boundary is undefined; write a condition instead: a rate with "
                "Initial(u.diff(t), …), a flux with Neumann(u, …).",
            )
    points = [s for s in breaks.sources if len(s.planes) > 1 or s.strength.nonlinear or s.strength.linear]
    if points:
        planes = ", ".join(f"{coordinates[axis]} = {level:g}" for axis, level in points[0].planes)
        raise ProblemError(
            "problem",
            expected="a DiracDelta of one coordinate, with a given strength",
            got=f"one at {planes}",
            remedy="This is not supported yet: use a narrow exp(-((x - a)/w)**2).",
        )


def _exact(value: float) -> Expression:
    import sympy as sp

    return sp.Float(value, 17)


def switch_axes(switch: Switch, context: SwitchContext) -> list[int]:
    """Return the axes on which a switching function depends."""
    symbols = switch.expression.free_symbols
    return [i for i, c in enumerate(context.variables.coordinates) if c in symbols]


def _located(delta: DeltaSource, context: SwitchContext) -> LocatedSource:
    return LocatedSource(
        tuple((axis, float(context.with_parameters(level))) for axis, level in delta.planes), delta.strength
    )


def switch_levels(g: Expression, at_integers: bool, axis: int, context: SwitchContext) -> list[float]:
    """Return the zeros of a function of one coordinate inside the box, or the points with integer values.

    If there are more than ``_MAX_PLANES``, only some are returned, but more than that number.
    """
    low, high = (float(v) for v in context.box[axis])
    x = context.variables.coordinates[axis]
    function = compile_expressions([x], [g])

    def at(points: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(np.float64(points))[0] + 0.0 * points

    slope = g.diff(x)
    linear = x not in slope.free_symbols and slope != 0
    grid = np.linspace(low, high, _SAMPLES + 1)
    values = np.asarray(at(grid), dtype=float)
    finite = values[np.isfinite(values)]
    if not len(finite):
        return []
    targets: Sequence[float] = [0.0]
    if at_integers:
        first, last = float(np.ceil(finite.min())), float(np.floor(finite.max()))
        if last - first > _MAX_PLANES + 1:  # a continuous function takes every value between
            return [float(level) for level in np.linspace(low, high, _MAX_PLANES + 3)[1:-1]]
        targets = np.arange(first, last + 1).tolist()
    found = []
    for target in targets:
        if linear:
            found.append(float((target - g.xreplace({x: 0 * x})) / slope))
            continue
        more = _double_crossings(at, target, grid, values)
        grid = np.unique(np.concatenate([grid, more]))
        values = np.asarray(at(grid), dtype=float)
        shifted = values - target
        zero = np.concatenate([[False], shifted == 0, [False]])
        # A function that is zero on an interval, like floor(2x), does not switch there.
        found += grid[zero[1:-1] & ~zero[:-2] & ~zero[2:]].tolist()
        with np.errstate(all="ignore"):
            crossing = np.flatnonzero(shifted[:-1] * shifted[1:] < 0)[: _MAX_PLANES + 1]
        if len(crossing):
            from scipy.optimize import brentq  # the import takes 0.17 s
        for i in crossing:

            def side(p: float, target: float = target) -> float:
                return float(at(p)) - target

            root = float(brentq(side, grid[i], grid[i + 1], xtol=1e-16 * (high - low)))
            found.append(_first_after(side, root, shifted[i + 1]))
    margin = _MIN_DISTANCE * (high - low)
    return sorted({v for v in found if low + margin < v < high - margin})


def _double_crossings(f: Callable[[Array], Any], target: float, grid: Array, values: Array) -> Array:
    """Return points where f crosses a target twice between two grid points, without a sign change."""
    values = values - target
    size = np.abs(np.nan_to_num(values, nan=np.inf))
    low = (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] > 0)
    i = (
        np.flatnonzero(low & (values[:-2] * values[1:-1] > 0) & (values[1:-1] * values[2:] > 0))[:_MAX_PLANES]
        + 1
    )
    a, b, sign, rows = grid[i - 1], grid[i + 1], np.sign(values[i]), np.arange(len(i))
    for _ in range(_ZOOM_STEPS if len(i) else 0):
        P = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 9)
        v = sign[:, None] * (f(P) - target)
        j = np.nan_to_num(v, nan=np.inf).argmin(axis=1)
        a, b = P[rows, np.maximum(j - 1, 0)], P[rows, np.minimum(j + 1, 8)]
    return np.asarray(P[rows, j][v[rows, j] < 0]) if len(i) else np.empty(0)


def _minima(f: Callable[[Array], Any], X: Array, box: Array, rng: np.random.Generator) -> Array:
    """Return points near the minima of |f|, by random search around the smallest values at X."""
    reach = (box[:, 1] - box[:, 0]) * len(X) ** (-1.0 / len(box))
    best = X[np.argsort(np.nan_to_num(np.abs(f(X)), nan=np.inf))[:_CANDIDATES]]
    for _ in range(2 * _ZOOM_STEPS):
        around = best[:, None] + reach * rng.standard_normal((len(best), _CANDIDATES, len(box)))
        around = np.concatenate([best[:, None], np.clip(around, box[:, 0], box[:, 1])], axis=1)
        v = f(around.reshape(-1, len(box))).reshape(around.shape[:2])
        v = np.nan_to_num(np.sign(v[:1, :1]) * v, nan=np.inf)
        best, reach = around[np.arange(len(best)), v.argmin(axis=1)], 0.6 * reach
    return np.asarray(best)


def _first_after(side: Callable[[float], float], root: float, beyond: float) -> float:
    """Return the first floating-point number with the sign after a root, correcting errors of the root."""
    for _ in range(_ROOT_ULPS):
        if side(root) * beyond > 0:
            break
        root = float(np.nextafter(root, np.inf))
    for _ in range(_ROOT_ULPS):
        before = float(np.nextafter(root, -np.inf))
        if not side(before) * beyond > 0:
            break
        root = before
    return root


def points_on_both_sides(switch: Switch, context: SwitchContext) -> tuple[Array, Array] | None:
    """Return pairs of adjacent points on the two sides of a switch; None if it is not in the box."""
    rng = np.random.default_rng(0)
    function = compile_expressions(
        context.variables.coordinates, [context.with_parameters(switch.expression)]
    )

    def value(X: Array) -> Any:
        with np.errstate(all="ignore"):
            return function(*X.T)[0] + np.zeros(len(X))

    def side(X: Array) -> Any:
        g = value(X)
        return np.sin(np.pi * g) >= 0 if switch.at_integers else g >= 0

    X = rng.uniform(context.box[:, 0], context.box[:, 1], (_SAMPLES, len(context.box)))
    on = side(X)
    if (on.all() or not on.any()) and not switch.at_integers:
        X = np.concatenate([X, _minima(value, X, context.box, rng)])
        on = side(X)
    if on.all() or not on.any():
        return None
    a, b = X[~on], X[on]
    a, b = a[rng.integers(len(a), size=_PAIRS)], b[rng.integers(len(b), size=_PAIRS)]
    return bisect(lambda c: ~side(c)[:, None], a, b, 44)


def coefficient_expressions(form: Form) -> list[Expression]:
    """Return ρ and all ∂r/∂J of a form."""
    return [form.rest, *(a for _, a in form.linearization)]


def has_jump(
    expressions: Sequence[Expression],
    sides: tuple[Array, Array],
    context: SwitchContext,
    *,
    bounded: bool = False,
) -> bool:
    """Return whether one of the expressions jumps between the two sides.

    Symbols other than coordinates get fixed values. Differences are relative to the values further away, so
    that |x|, which vanishes on both sides, does not count. With ``bounded`` singular values do not count.
    """
    coordinates = context.variables.coordinates
    fixed = [context.with_parameters(e) for e in expressions]
    others: Mapping[Parameter, float] = {
        s: 0.3 + 0.1 * i
        for i, s in enumerate(
            sorted(set().union(*(e.free_symbols for e in fixed)) - set(coordinates), key=str)
        )
    }
    function = compile_expressions([*coordinates, *others], fixed)
    a, b = sides
    around = (a, b, a + _FAR_FACTOR * (a - b), b + _FAR_FACTOR * (b - a))
    with np.errstate(all="ignore"):
        found = [function(*X.T, *others.values()) for X in around]
    for values in zip(*found, strict=True):
        p, q, *further = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in values))
        size = float(np.nan_to_num(np.abs([p, q, *further])).max(initial=0.0))
        grown = np.abs([p, q]).max(axis=0) > _SINGULAR_GROWTH * np.abs(further).max(axis=0)
        if np.any((np.abs(p - q) > _MIN_JUMP * size) & ~(bounded & grown)):
            return True
    return False
