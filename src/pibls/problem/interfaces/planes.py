"""x_i = c: the planes where a problem's coefficients and sources jump or bend.

On either side of such a plane the solution is smooth; across it, it is not. Cells put their faces there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.geometry.faces.face import bisected
from pibls.problem.forms.form import Delta, Form, Language, Variables
from pibls.problem.forms.program import program
from pibls.problem.interfaces.switches import Switch

_SAMPLES = 2048
_PAIRS = 64
_MOST = 1000  # planes of one switch
_JUMP = 1e-6  # relative
_APART = 1e-12  # of the box: planes that are nearer to each other, or to its sides, are one
_FURTHER = 2.0**22  # as far as the two sides of a switch are from each other: |x| is less than _JUMP of that
_CLOSER = 20  # steps towards where a switch is least, and may change its sign after all
_FEW = 24
_GROWN = 2.0  # what is so much larger than further off is infinite
_ULPS = 16  # numbers that a root may be off by


@dataclass(frozen=True)
class Plane:
    """x_axis = level; ``flux`` where something under an outer derivative jumps there."""

    axis: int
    level: float
    flux: bool


@dataclass(frozen=True)
class Slanted:
    """g = 0, on no coordinate plane; g in the problem's own symbols."""

    expression: Any
    flux: bool


@dataclass(frozen=True)
class Source:
    """strength · Π δ(x_axis - level)."""

    planes: tuple[tuple[int, float], ...]
    strength: Form


@dataclass(frozen=True)
class Breaks:
    """Where a problem, or one statement of it, is not smooth inside its domain."""

    planes: tuple[Plane, ...] = ()
    slanted: tuple[Slanted, ...] = ()
    sources: tuple[Source, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.planes or self.slanted or self.sources)

    def __or__(self, other: Breaks) -> Breaks:
        levels = {(p.axis, p.level): p.flux for p in self.planes}
        for p in other.planes:
            levels[p.axis, p.level] = p.flux or levels.get((p.axis, p.level), False)
        return Breaks(
            tuple(Plane(axis, level, flux) for (axis, level), flux in sorted(levels.items())),
            tuple(dict.fromkeys((*self.slanted, *other.slanted))),
            (*self.sources, *other.sources),
        )

    def distinct(self, box: Array) -> Breaks:
        """Those whose planes are rounding apart, as of Max(1, sign(x)) and of sign(x), as one."""
        loaded = {plane for source in self.sources for plane in source.planes}
        planes = list[Plane]()
        for p in self.planes:
            last = planes[-1] if planes and planes[-1].axis == p.axis else None
            if (
                last is not None
                and p.level - last.level < _APART * float(np.ptp(box[p.axis]))
                and not {(p.axis, p.level), (p.axis, last.level)} <= loaded
            ):
                kept = last if (p.axis, last.level) in loaded else p
                planes[-1] = Plane(p.axis, kept.level, p.flux or last.flux)
            else:
                planes.append(p)
        return replace(self, planes=tuple(planes))


@dataclass(frozen=True)
class SwitchBox:
    """What a switch is looked for in: the box of the domain, at values of the parameters."""

    language: Language
    values: tuple[float, ...]
    box: Array

    @cached_property
    def variables(self) -> Variables:
        return self.language.variables

    def fixed(self, e: Any) -> Any:
        """An expression with the values of the parameters in it."""
        return e.xreplace(dict(zip(self.variables.parameters, map(_exact, self.values), strict=True)))

    def written(self, e: Any) -> Any:
        """An expression in the problem's own symbols."""
        ours, theirs = self.language.coordinates, self.language.parameters
        v = self.variables
        return e.xreplace(dict(zip((*v.coordinates, *v.parameters), (*ours, *theirs), strict=True)))


def breaks_of(form: Form, place: SwitchBox) -> Breaks:
    """The planes and other places inside the box where one statement jumps or bends."""
    found = Breaks(sources=tuple(_source(d, place) for d in form.deltas))
    for axis, level in (p for source in found.sources for p in source.planes):
        # Where the statement has a flux, it is that which jumps by the strength, whatever stands in it.
        found |= Breaks((Plane(axis, level, flux=any(f.axis == axis for f in form.fluxes)),))
    found |= Breaks(tuple(Plane(axis, level, flux=False) for axis, level in _named(form, place)))
    for switch in form.switches:
        axes, g = axes_of(switch, place), place.fixed(switch.expression)
        held = [f.form for f in form.fluxes if f.axis in axes]
        sides = sides_of(switch, place)
        if switch.hidden:
            every = [*terms_of(form), *(e for f in held for e in terms_of(f))]
            if sides is None or not jumps(every, sides, place, bounded=True):
                continue
        flux = sides is not None and any(jumps(terms_of(f), sides, place) for f in held)
        if len(axes) == 1:
            levels = levels_of(g, switch.whole, axes[0], place)
            if len(levels) > _MOST:
                raise ProblemError(
                    form.name,
                    expected=f"at most {_MOST} places inside the domain where it jumps or bends",
                    got=f"{place.written(switch.expression)}, which has more of them",
                    remedy="Use its mean value where it changes so quickly, or a smaller domain.",
                )
            found |= Breaks(tuple(Plane(axes[0], x, flux) for x in levels))
        elif sides is not None:
            found |= Breaks(slanted=(Slanted(place.written(switch.expression), flux),))
    return found


def _named(form: Form, place: SwitchBox) -> Iterator[tuple[int, float]]:
    """(axis, level) inside the box of the breaks that a user named for Python functions."""
    for axis, level in (plane for datum in form.data for plane in datum.breaks):
        low, high = place.box[axis]
        margin = _APART * (high - low)
        if low + margin < level < high - margin:
            yield axis, level


def refuse_unsolved(breaks: Breaks, coordinates: Sequence[Any], box: Array) -> None:
    """Raise a ProblemError for what can be stated and is not solved yet, or has no meaning."""
    for axis, level in (plane for s in breaks.sources for plane in s.planes):
        if level in box[axis]:
            raise ProblemError(
                "problem",
                expected="a DiracDelta inside of the domain",
                got=f"one at its end, {coordinates[axis]} = {level:g}",
                remedy="How much of it lies inside is for a condition to say: a rate with "
                "Initial(u.diff(t), …), a flux with Neumann(u, …).",
            )
    points = [s for s in breaks.sources if len(s.planes) > 1 or s.strength.nonlinear or s.strength.linear]
    if points:
        planes = ", ".join(f"{coordinates[axis]} = {level:g}" for axis, level in points[0].planes)
        raise ProblemError(
            "problem",
            expected="a DiracDelta of one coordinate, with a given strength",
            got=f"one at {planes}",
            remedy="This is not solved yet: use a narrow exp(-((x - a)/w)**2).",
        )


def _exact(value: float) -> Any:
    import sympy as sp

    return sp.Float(value, 17)


def axes_of(switch: Switch, place: SwitchBox) -> list[int]:
    held = switch.expression.free_symbols
    return [i for i, c in enumerate(place.variables.coordinates) if c in held]


def _source(delta: Delta, place: SwitchBox) -> Source:
    return Source(tuple((axis, float(place.fixed(level))) for axis, level in delta.planes), delta.strength)


def levels_of(g: Any, whole: bool, axis: int, place: SwitchBox) -> list[float]:
    """The zeros of a function of one coordinate inside the box, or where it is a whole number.

    Where there are more than ``_MOST`` of them, some of them, more than that.
    """
    low, high = (float(v) for v in place.box[axis])
    x = place.variables.coordinates[axis]
    function = program([x], [g])

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
    if whole:
        first, last = float(np.ceil(finite.min())), float(np.floor(finite.max()))
        if last - first > _MOST + 1:  # a continuous function has every value between
            return [float(level) for level in np.linspace(low, high, _MOST + 3)[1:-1]]
        targets = np.arange(first, last + 1).tolist()
    found = []
    for target in targets:
        if linear:
            found.append(float((target - g.xreplace({x: 0 * x})) / slope))
            continue
        more = _dips(at, target, grid, values)
        grid = np.unique(np.concatenate([grid, more]))
        values = np.asarray(at(grid), dtype=float)
        shifted = values - target
        zero = np.concatenate([[False], shifted == 0, [False]])
        # Where it is zero for a while, as floor(2x) is, it does not switch there.
        found += grid[zero[1:-1] & ~zero[:-2] & ~zero[2:]].tolist()
        with np.errstate(all="ignore"):
            crossing = np.flatnonzero(shifted[:-1] * shifted[1:] < 0)[: _MOST + 1]
        if len(crossing):
            from scipy.optimize import brentq  # takes a sixth of a second to import
        for i in crossing:

            def side(p: float, target: float = target) -> float:
                return float(at(p)) - target

            root = float(brentq(side, grid[i], grid[i + 1], xtol=1e-16 * (high - low)))
            found.append(_first_beyond(side, root, shifted[i + 1]))
    margin = _APART * (high - low)
    return sorted({v for v in found if low + margin < v < high - margin})


def _dips(f: Callable[[Array], Any], target: float, grid: Array, values: Array) -> Array:
    """Points between those of a grid where f goes beyond a target that it has not passed at either."""
    values = values - target
    size = np.abs(np.nan_to_num(values, nan=np.inf))
    low = (size[1:-1] <= size[:-2]) & (size[1:-1] <= size[2:]) & (size[1:-1] > 0)
    i = np.flatnonzero(low & (values[:-2] * values[1:-1] > 0) & (values[1:-1] * values[2:] > 0))[:_MOST] + 1
    a, b, sign, rows = grid[i - 1], grid[i + 1], np.sign(values[i]), np.arange(len(i))
    for _ in range(_CLOSER if len(i) else 0):
        P = a[:, None] + (b - a)[:, None] * np.linspace(0.0, 1.0, 9)
        v = sign[:, None] * (f(P) - target)
        j = np.nan_to_num(v, nan=np.inf).argmin(axis=1)
        a, b = P[rows, np.maximum(j - 1, 0)], P[rows, np.minimum(j + 1, 8)]
    return np.asarray(P[rows, j][v[rows, j] < 0]) if len(i) else np.empty(0)


def _lowest(f: Callable[[Array], Any], X: Array, box: Array, rng: np.random.Generator) -> Array:
    """Where |f| is least, by points ever closer around the least of X: f may change its sign between them."""
    reach = (box[:, 1] - box[:, 0]) * len(X) ** (-1.0 / len(box))
    best = X[np.argsort(np.nan_to_num(np.abs(f(X)), nan=np.inf))[:_FEW]]
    for _ in range(2 * _CLOSER):
        around = best[:, None] + reach * rng.standard_normal((len(best), _FEW, len(box)))
        around = np.concatenate([best[:, None], np.clip(around, box[:, 0], box[:, 1])], axis=1)
        v = f(around.reshape(-1, len(box))).reshape(around.shape[:2])
        v = np.nan_to_num(np.sign(v[:1, :1]) * v, nan=np.inf)
        best, reach = around[np.arange(len(best)), v.argmin(axis=1)], 0.6 * reach
    return np.asarray(best)


def _first_beyond(side: Callable[[float], float], root: float, beyond: float) -> float:
    """The first number with the sign that holds after a root: a root may be off by a few, to either side."""
    for _ in range(_ULPS):
        if side(root) * beyond > 0:
            break
        root = float(np.nextafter(root, np.inf))
    for _ in range(_ULPS):
        before = float(np.nextafter(root, -np.inf))
        if not side(before) * beyond > 0:
            break
        root = before
    return root


def sides_of(switch: Switch, place: SwitchBox) -> tuple[Array, Array] | None:
    """Pairs of points next to each other, one on each side of a switch; None if it is nowhere in the box."""
    rng = np.random.default_rng(0)
    function = program(place.variables.coordinates, [place.fixed(switch.expression)])

    def value(X: Array) -> Any:
        with np.errstate(all="ignore"):
            return function(*X.T)[0] + np.zeros(len(X))

    def side(X: Array) -> Any:
        g = value(X)
        return np.sin(np.pi * g) >= 0 if switch.whole else g >= 0

    X = rng.uniform(place.box[:, 0], place.box[:, 1], (_SAMPLES, len(place.box)))
    on = side(X)
    if (on.all() or not on.any()) and not switch.whole:
        X = np.concatenate([X, _lowest(value, X, place.box, rng)])
        on = side(X)
    if on.all() or not on.any():
        return None
    a, b = X[~on], X[on]
    a, b = a[rng.integers(len(a), size=_PAIRS)], b[rng.integers(len(b), size=_PAIRS)]
    return bisected(lambda c: ~side(c)[:, None], a, b, 44)


def terms_of(form: Form) -> list[Any]:
    return [form.rest, *(a for _, a in form.slopes)]


def jumps(
    expressions: Sequence[Any], sides: tuple[Array, Array], place: SwitchBox, *, bounded: bool = False
) -> bool:
    """Whether one of the expressions differs on the two sides; whatever is no coordinate is held.

    What vanishes on both sides, as |x| does, differs there too: it is compared with what it is further off.
    ``bounded``: whether one does so that is not infinite there.
    """
    coordinates = place.variables.coordinates
    fixed = [place.fixed(e) for e in expressions]
    others: Mapping[Any, float] = {
        s: 0.3 + 0.1 * i
        for i, s in enumerate(
            sorted(set().union(*(e.free_symbols for e in fixed)) - set(coordinates), key=str)
        )
    }
    function = program([*coordinates, *others], fixed)
    a, b = sides
    around = (a, b, a + _FURTHER * (a - b), b + _FURTHER * (b - a))
    with np.errstate(all="ignore"):
        found = [function(*X.T, *others.values()) for X in around]
    for values in zip(*found, strict=True):
        p, q, *further = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in values))
        size = float(np.nan_to_num(np.abs([p, q, *further])).max(initial=0.0))
        grown = np.abs([p, q]).max(axis=0) > _GROWN * np.abs(further).max(axis=0)
        if np.any((np.abs(p - q) > _JUMP * size) & ~(bounded & grown)):
            return True
    return False
