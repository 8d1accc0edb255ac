"""exp(-((x - a)/w)²): where a function of one coordinate is over before anyone looks.

Sources and data are looked at in many places between those where equations hold (`search.judging.bench`);
what is
narrower than these are apart is zero at all of them. Its formula says where it is: a bell, a step and a pole
are where their inner function, or its slope, is zero. Cells and windows end there, as at a switch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.problem.forms.program import program

NARROW = 5e-4
"""Of the box: what is wider is seen by the 10,000 points that look for it."""
_STEEP = (sp.exp, sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch, sp.erf, sp.erfc, sp.atan)
_MOST = 24  # of one coordinate: of many of them some are seen
_CHANGED = 0.3  # of its size: by so much a function has changed within its width
_LEFT = 1e-15  # of its size: what a function may still change where it is over
_PLACES = np.linspace(0.0, 1.0, 257)
_POLE = 1e-2  # of its size: what has a pole is small somewhere, or has a bell inside
_SCALES = 2.0 ** np.arange(-40, 0)  # of the box: how far off it is looked at

Zeros = Callable[[Any, int], list[float]]
"""Where an expression of one coordinate, of that number, is zero in the box."""


def narrow_places(
    e: Any, coordinates: Sequence[Any], box: Array, zeros: Zeros
) -> dict[tuple[int, float], None]:
    """(axis, level) in the middle of what is narrow, and at its ends."""
    found: dict[tuple[int, float], None] = {}
    steep = [f for f in e.atoms(sp.Pow, *_STEEP) if not f.is_Pow or _may_be_infinite(f)]
    for axis, x in enumerate(coordinates):
        low, high = (float(v) for v in box[axis])
        own = {own: None for f in steep for own in _of_one(f, x)}
        inner = [f.args[0] for f in own if f.is_Pow or _is_long(f.args[0], x, low, high)]
        levels = {level for g in inner for h in (g, g.diff(x)) for level in zeros(h, axis)}
        if 0 < len(levels) <= _MOST:
            functions = program([x], list(own))
            for level in sorted(levels):
                ends = _ends(functions, level, low, high)
                found |= {(axis, c): None for c in ends if low < c < high}
    return found


@dataclass(frozen=True)
class Suspects:
    """What stands inside of steep functions and poles of one coordinate, at any values of the parameters."""

    axes: tuple[int, ...]
    poles: tuple[bool, ...]
    inner: Callable[..., Any]

    @classmethod
    def of(
        cls, expressions: Sequence[Any], coordinates: tuple[Any, ...], parameters: tuple[Any, ...]
    ) -> Suspects:
        """Those of some expressions."""
        found = dict[tuple[int, Any, bool], None]()
        for f in (f for e in expressions for f in e.atoms(sp.Pow, *_STEEP)):
            if f.is_Pow and not _may_be_infinite(f):
                continue
            for axis, x in enumerate(coordinates):
                found |= {(axis, own.args[0], own.is_Pow): None for own in _of_one(f, x, parameters)}
        axes, inner, poles = zip(*found, strict=True) if found else ((), (), ())
        return cls(axes, poles, program([*coordinates, *parameters], list(inner)))

    def are_narrow(self, box: Array, values: Sequence[float]) -> bool:
        """Whether one of them may be, at these values: its range, or that of its size, is long enough."""
        if not self.axes:
            return False
        X = box[:, :1] + _PLACES * (box[:, 1:] - box[:, :1])
        with np.errstate(all="ignore"):
            g = np.array([values + 0.0 * X[0] for values in self.inner(*X, *values)])
            size = np.abs(g)
            small = size.min(axis=1) < _POLE * size.max(axis=1)
            short = g.max(axis=1) - g.min(axis=1) < _CHANGED / (4.0 * NARROW)
        return not np.isfinite(size.sum()) or bool(np.where(self.poles, small, ~short).any())


def _may_be_infinite(power: Any) -> bool:
    return not (power.exp.free_symbols or (power.exp.is_integer and power.exp.is_positive))


def _is_long(g: Any, x: Any, low: float, high: float) -> bool:
    """Whether a function, of which a range of 1 makes a difference, has its whole range in a narrow place."""
    with np.errstate(all="ignore"):
        values = program([x], [g])(np.linspace(low, high, 9))[0]
    return not np.ptp(values) < _CHANGED / (4.0 * NARROW)


def _of_one(f: Any, x: Any, parameters: Collection[Any] = ()) -> list[Any]:
    """f as a function of x alone: exp(a + b) is a product, of which each factor may be narrow."""
    g = f.args[0]
    if isinstance(f, sp.exp) and len(g.free_symbols) > 1:
        g = sp.Add(*(a for a in sp.Add.make_args(sp.expand_mul(g)) if x in a.free_symbols))
    return [f.func(g, *f.args[1:])] if g.free_symbols - set(parameters) == {x} else []


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
