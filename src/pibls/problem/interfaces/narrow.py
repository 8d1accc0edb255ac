"""f(g(x)): what stands inside of functions tells where they are too narrow to be seen.

exp(-((x - a)/w)²) is as narrow as one likes, and no number of points finds it; -((x - a)/w)², which stands
inside, is as wide as the domain. Where it is least or largest, points that judge are looked for
(`search.judging.look`). Of one coordinate a bell, a step and a pole are where their inner function, or its
slope, is zero: cells and windows end there, as at a switch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.problem.forms.form import Form
from pibls.problem.forms.program import program
from pibls.problem.interfaces.planes import Breaks, Plane, SwitchBox, levels_of, terms_of

NARROW = 5e-4
"""Of the box: what is wider is seen by the 10,000 points that look for it."""
_STEEP = (sp.exp, sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch, sp.erf, sp.erfc, sp.atan)
_WAVES = (sp.sin, sp.cos, sp.asinh, sp.sinc)  # these change everywhere
_SWITCHES = 10**9
"""A condition holds or not within no distance at all: it is as steep as one likes."""
_MOST = 24  # of one coordinate: of many of them some are seen
_CHANGED = 0.3  # of its size: by so much a function has changed within its width
_LEFT = 1e-15  # of its size: what a function may still change where it is over
_PLACES = np.linspace(0.0, 1.0, 257)
_POLE = 1e-2  # of its size: what has a pole is small somewhere, or has a bell inside
_SCALES = 2.0 ** np.arange(-40, 0)  # of the box: how far off it is looked at


def _steep(e: Any, *others: Any) -> Iterator[Any]:
    """The functions in an expression that may be steep, and powers that may be infinite."""
    for f in sp.preorder_traversal(e):
        if isinstance(f, (*_STEEP, *others)) or (isinstance(f, sp.Pow) and _may_be_infinite(f)):
            yield f


def _may_be_infinite(power: Any) -> bool:
    return not (power.exp.free_symbols or (power.exp.is_integer and power.exp.is_positive))


def inner_of(
    expressions: Iterable[Any], coordinates: Collection[Any], parameters: Collection[Any]
) -> tuple[Any, ...]:
    """What functions are taken of, where it depends on the coordinates alone; 1/g is exp(-log g)."""
    own, allowed = set(coordinates), {*coordinates, *parameters}
    found: dict[Any, None] = {}
    for e in (e for e in expressions if e.free_symbols & own):
        for f in _steep(e, *_WAVES, sp.Piecewise):
            if isinstance(f, sp.Piecewise):
                inside = [_SWITCHES * deep for _, c in f.args if (deep := _depth(c)) is not None]
            else:
                inside = [sp.log(sp.Abs(f.base)) if isinstance(f, sp.Pow) else f.args[0]]
            for g in inside:
                if g.free_symbols & own and g.free_symbols <= allowed and not g.is_Symbol:
                    found[g] = None
    return tuple(found)


def _depth(condition: Any) -> Any:
    """How far within its bounds a condition holds, most in the middle; None of an equality."""
    if isinstance(condition, (sp.And, sp.Or)):
        parts = [_depth(part) for part in condition.args]
        together = sp.Min if isinstance(condition, sp.And) else sp.Max
        return None if None in parts else together(*parts)
    if isinstance(condition, sp.Rel) and condition.rel_op in ("<", "<=", ">", ">="):
        return condition.gts - condition.lts
    return None


@dataclass(frozen=True)
class Suspects:
    """What stands inside of steep functions and poles of one coordinate, at any values of the parameters."""

    poles: tuple[bool, ...]
    inner: Callable[..., Any]

    @classmethod
    def of(cls, forms: Sequence[Form], place: SwitchBox) -> Suspects:
        """Those of some statements."""
        v = place.variables
        given = [e for form in forms for e in _given(form)]
        found = {(f.args[0], f.is_Pow): None for x in v.coordinates for f in _of_one(given, x, v.parameters)}
        inner, poles = zip(*found, strict=True) if found else ((), ())
        return cls(poles, program([*v.coordinates, *v.parameters], list(inner)))

    def are_narrow(self, place: SwitchBox) -> bool:
        """Whether one of them may be, at these values: its range, or that of its size, is long enough."""
        if not self.poles:
            return False
        box = place.box
        X = box[:, :1] + _PLACES * (box[:, 1:] - box[:, :1])
        with np.errstate(all="ignore"):
            g = np.array([values + 0.0 * X[0] for values in self.inner(*X, *place.values)])
            size = np.abs(g)
            small = size.min(axis=1) < _POLE * size.max(axis=1)
            long = ~_is_short(g)
        return not np.isfinite(size.sum()) or bool(np.where(self.poles, small, long).any())


def narrow_in(form: Form, place: SwitchBox) -> Breaks:
    """Planes in the middle and at the ends of what is too narrow to be seen in a statement."""
    found: dict[tuple[int, float], None] = {}
    given = [place.fixed(e) for e in _given(form)]
    for axis, x in enumerate(place.variables.coordinates):
        low, high = (float(v) for v in place.box[axis])
        steep = list(_of_one(given, x))
        inner = [f.args[0] for f in steep if f.is_Pow or _is_long(f.args[0], x, low, high)]
        levels = {c for g in inner for h in (g, g.diff(x)) for c in levels_of(h, False, axis, place)}
        if 0 < len(levels) <= _MOST:
            functions = program([x], steep)
            for level in sorted(levels):
                found |= {(axis, c): None for c in _ends(functions, level, low, high) if low < c < high}
    return Breaks(tuple(Plane(axis, level, flux=False) for axis, level in sorted(found)))


def _given(form: Form) -> list[Any]:
    return [e for part in (form, *(f.form for f in form.fluxes)) for e in terms_of(part)]


def _of_one(expressions: Iterable[Any], x: Any, parameters: Collection[Any] = ()) -> dict[Any, None]:
    """Steep functions of x alone: exp(a + b) is a product, of which each factor may be narrow."""
    found: dict[Any, None] = {}
    for f in (f for e in expressions for f in _steep(e)):
        g = f.args[0]
        if isinstance(f, sp.exp) and len(g.free_symbols) > 1:
            g = sp.Add(*(a for a in sp.Add.make_args(sp.expand_mul(g)) if x in a.free_symbols))
        if g.free_symbols - set(parameters) == {x}:
            found[f.func(g, *f.args[1:])] = None
    return found


def _is_long(g: Any, x: Any, low: float, high: float) -> bool:
    with np.errstate(all="ignore"):
        values = program([x], [g])(np.linspace(low, high, 9))[0]
    return not _is_short(np.atleast_1d(values))


def _is_short(values: Array) -> Any:
    """Whether functions, of which a range of 1 makes a difference, have no such range in a narrow place."""
    return np.ptp(values, axis=-1) < _CHANGED / (4.0 * NARROW)


def _ends(functions: Callable[..., Any], level: float, low: float, high: float) -> list[float]:
    """The ends of what is narrow around a place, as far as there are any, and the place itself."""
    found: list[float] = []
    sides = [np.clip(level + sign * _SCALES * (high - low), low, high) for sign in (-1.0, 1.0)]
    with np.errstate(all="ignore"):
        values = [np.array([v + 0.0 * t for v in functions(t)]) for t in (*sides, np.array([level]))]
    for *beside, here in zip(*values, strict=True):
        size = np.abs([*beside[0], *beside[1], *here]).max()
        near = np.array([side[_SCALES <= NARROW] for side in beside])
        if not np.isfinite(size) or np.abs(near - here).max() <= _CHANGED * size:
            continue
        found.append(level)
        for t, side in zip(sides, beside, strict=True):
            over = 1 + np.flatnonzero(np.abs(np.diff(side)) > _LEFT * size).max(initial=-1)
            found += [float(t[over])] if 0 < over < len(t) - 1 else []
    return found
