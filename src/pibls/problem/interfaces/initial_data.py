r"""∂_t^m B[u] = 0 at (a, t₀), m = 0, 1, …: whether the start of a linear evolution fits an end.

The equations say all rates ∂_t^j u at the start, one after the other, from those that are given. Where the
condition B of an end, or one of its rates, does not hold for them in the corner, that derivative of the
solution jumps along what leaves the corner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.caching import cached_property
from pibls.problem.forms.form import Form, Jet
from pibls.problem.forms.program import program
from pibls.problem.interfaces.laws import law_at
from pibls.problem.interfaces.planes import SwitchBox

_FIT = 1e-9  # of the terms: what is left where a start fits an end
_BESIDE = 1e-6  # of the domain: how far from a corner the law there is looked for
_LOOKED = 7  # places that tell how large a term is

Rates = Mapping[tuple[int, int], Any]
"""{(unknown, j): ∂_t^j of it at the start}"""


@dataclass(frozen=True)
class Outset:
    """The start of an evolution whose equations are linear, solved for their highest rates."""

    place: SwitchBox
    equations: Sequence[Form]
    orders: Sequence[int]
    given: Rates

    def misfit(self, x: float, end: Sequence[Form], most: int) -> int | None:
        """The first derivative that jumps in the corner of an end; None where all up to that one fit."""
        rates = self._rates(x, most)
        side = sp.Integer(-1 if x == float(self.place.box[0, 0]) else 1)
        normal = dict(zip(self.place.variables.normals, (side, sp.Integer(0)), strict=True))
        found = []
        for form in end:
            order = max(sum(j.alpha) for j in form.jets)
            terms = [(jet, self._law(a, x).xreplace(normal)) for jet, a in _terms(form)]
            for m in range(most + 1 - order):
                if not _fit([self._values(self._rate(jet, a, rates, m), x) for jet, a in terms]):
                    found.append(m + order)
                    break
        return min(found, default=None)

    def misfit_of_ring(self, most: int) -> int | None:
        """The first derivative that jumps where a ring is closed."""
        X, found = self.place.variables.coordinates[0], []
        for (_, j), value in self.given.items():
            for m in range(most + 1 - j):
                low, high = (
                    self._values(sp.diff(self._law(value, x), X, m), x) for x in self.place.box[0].tolist()
                )
                if not _fit([low, -high]):
                    found.append(m + j)
                    break
        return min(found, default=None)

    def changes(self, form: Form, axis: int, level: float) -> bool:
        """Whether a statement has another law on the other side of a place."""
        step = _BESIDE * float(np.ptp(self.place.box[axis]))
        sides = self.place.box[:, 0] + np.zeros((2, 2))
        sides[:, axis] = level - step, level + step
        before, after = ([law_at(a, self._value(p)) for _, a in _terms(form)] for p in sides)
        return before != after

    @cached_property
    def _lead(self) -> Any:
        """The coefficients of the highest rates, inverted."""
        out = sp.zeros(len(self.orders))
        for i, form in enumerate(self.equations):
            for jet, a in form.linear:
                if jet.alpha == (0, self.orders[jet.unknown]):
                    out[i, jet.unknown] += self.place.fixed(a)
        return out.inv()

    def _rates(self, x: float, most: int) -> dict[tuple[int, int], Any]:
        """The rates at the start next to an end, as functions of x."""
        rates = {key: self._law(value, x) for key, value in self.given.items()}
        equations = [[(jet, self._law(a, x)) for jet, a in _terms(form)] for form in self.equations]
        for m in range(most + 1 - min(self.orders)):
            left = [sum(self._rate(jet, a, rates, m) for jet, a in terms) for terms in equations]
            for k, value in enumerate(-self._lead * sp.Matrix(left)):
                rates[k, self.orders[k] + m] = sp.expand(value)
        return rates

    def _rate(self, jet: Jet | None, a: Any, rates: Rates, m: int) -> Any:
        """∂_t^m (a ∂^α u) at the start, with the rates that are known; those that are not are left out."""
        X, t = self.place.variables.coordinates
        at = {t: sp.Float(float(self.place.box[1, 0]), 17)}
        if jet is None:
            return sp.diff(a, t, m).xreplace(at)
        known = ((i, rates.get((jet.unknown, jet.alpha[1] + i))) for i in range(m + 1))
        return sum(
            (
                comb(m, i) * sp.diff(a, t, m - i).xreplace(at) * sp.diff(u, X, jet.alpha[0])
                for i, u in known
                if u is not None
            ),
            sp.Integer(0),
        )

    def _values(self, e: Any, x: float) -> Array:
        """An expression at the start, at an end and at some places."""
        low, high = self.place.box[0].tolist()
        at = np.concatenate([[x], np.linspace(low, high, _LOOKED)])
        with np.errstate(all="ignore"):
            found = program(self.place.variables.coordinates, [e])(at, self.place.box[1, 0] + 0.0 * at)[0]
        return np.asarray(np.broadcast_to(found, at.shape), dtype=float)

    def _law(self, e: Any, x: float) -> Any:
        """An expression as it is at the start next to an end."""
        (low, high), (start, stop) = self.place.box.tolist()
        inside = np.array([x + _BESIDE * (0.5 * (low + high) - x), start + _BESIDE * (stop - start)])
        return law_at(self.place.fixed(e), self._value(inside))

    def _value(self, point: Array) -> Any:
        symbols = self.place.variables.coordinates

        def value(inner: Any) -> float | None:
            fixed = self.place.fixed(inner)
            if not fixed.free_symbols <= set(symbols):
                return None
            with np.errstate(all="ignore"):
                return float(np.ravel(program(symbols, [fixed])(*point[:, None])[0])[0])

        return value


def _terms(form: Form) -> list[tuple[Jet | None, Any]]:
    """The terms of a linear statement; what is given has no jet."""
    return [*form.linear, (None, form.rest)]


def _fit(terms: Sequence[Array]) -> bool:
    """Whether terms vanish together at the first place, next to what they are there and elsewhere."""
    values = np.array(terms)
    return bool(abs(values[:, 0].sum()) <= _FIT * np.nan_to_num(np.abs(values)).sum(axis=0).max())
