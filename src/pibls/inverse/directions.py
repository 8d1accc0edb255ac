r"""∂g/∂ln θ v = 0: what the data cannot tell, in words.

A direction in which no measured value changes is the null space of the Jacobian. In logarithms it is that of
a product of powers, as such that of a sum; which it is, is tried out at another place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.inverse.covariance import NULL
from pibls.inverse.verdict import Verdict

_WEAK = 0.5  # σ of a direction, in units of its bounds, beyond which the data say nothing about it
_SHARE = 1e-3  # of a direction: less is none
_ROUND = 2e-3  # how far from a small fraction an exponent may be
_MOVED = 1.3  # the factor by which a claim is tried out
_HOLDS = 1e-3  # change of the values next to what a parameter alone changes

Predict = Callable[[Array], Array]


def verdict_of(
    symbols: Sequence[Any],
    theta: Array,
    low: Array,
    high: Array,
    jacobian: Array,
    sigma: Array,
    predict: Predict,
) -> Verdict:
    """The verdict at θ, from the Jacobian and, for its words, from a few further solves."""
    A = jacobian / sigma[:, None]
    size = np.where(theta != 0, np.abs(theta), 1.0)
    L = A * size
    columns = np.linalg.norm(L, axis=0)
    dead = columns <= NULL * columns.max(initial=0.0)
    if not columns.any():
        dead[:] = True
    lost = [int(i) for i in np.flatnonzero(dead)]
    words = [f"{symbols[i]} is not determined: no value depends on it" for i in lost]
    found = [{symbols[i]: 1.0} for i in lost]
    live = [int(i) for i in np.flatnonzero(~dead)]
    if len(live):
        unit = L[:, live] / columns[live]
        _, s, Vt = np.linalg.svd(unit, full_matrices=len(unit) < len(live))
        s = np.concatenate([s, np.zeros(len(live) - len(s))])
        null = Vt[s <= NULL * s[0]] / columns[live]
        if len(null):
            null /= np.abs(null).max(axis=1, keepdims=True)
            words += _named([symbols[i] for i in live], theta[live], null, live, theta, low, high, predict)
            found += [_as_mapping(symbols, live, v) for v in null]
        else:
            width = np.where(np.isfinite(high - low), high - low, 10.0 * size)[live]
            _, weak, Wt = np.linalg.svd(A[:, live] * width, full_matrices=False)
            for sw, v in zip(weak, Wt, strict=True):
                if sw * _WEAK < 1.0:
                    relative = v * width / size[live]
                    relative /= np.abs(relative).max()
                    mapping = _as_mapping(symbols, live, relative)
                    names = _combination(mapping)
                    words.append(
                        f"the data hardly tell {names}: its standard deviation is {1 / sw:.1g} of its bounds"
                    )
                    found.append(mapping)
    return Verdict(not words, tuple(words), tuple(found))


def _as_mapping(symbols: Sequence[Any], live: list[int], v: Array) -> dict[Any, float]:
    return {symbols[i]: float(c) for i, c in zip(live, v, strict=True) if abs(c) > _SHARE * np.abs(v).max()}


def _combination(direction: dict[Any, float]) -> str:
    if len(direction) == 1:
        return str(next(iter(direction)))
    return "the direction (" + ", ".join(f"{k}: {v:+.2g}" for k, v in direction.items()) + ")"


def _named(
    names: list[Any],
    theta: Array,
    null: Array,
    live: list[int],
    whole: Array,
    low: Array,
    high: Array,
    predict: Predict,
) -> list[str]:
    """ "only D*r is determined", for the parameters that the null directions move."""
    moved = [int(i) for i in np.flatnonzero((np.abs(null) > _SHARE).any(axis=0))]
    if len(moved) == 1:
        return [f"{names[moved[0]]} is not determined: no value depends on it there"]
    inner = null[:, moved]
    here = theta[moved]
    chosen = [names[i] for i in moved]
    tries: list[tuple[list[Any], Callable[[Array], Array]]] = []
    if (here > 0).all() or (here < 0).all():
        rows = _rational(_complement(inner))
        if rows is not None:
            found = [sp.Mul(*(n**c for n, c in zip(chosen, row, strict=True))) for row in rows]
            tries.append((found, lambda v: here * np.exp(np.log(_MOVED) * v)))
    rows = _rational(_complement(inner * here))
    if rows is not None:
        found = [sp.Add(*(c * n for n, c in zip(chosen, row, strict=True))) for row in rows]
        tries.append((found, lambda v: here * (1.0 + (_MOVED - 1.0) * v)))
    here_values = predict(whole)
    for found, move in tries:
        if _holds(move, inner, moved, live, whole, low, high, here_values, predict):
            text = [str(sp.nsimplify(e)) for e in found]
            if not text:
                return [f"{', '.join(map(str, chosen))} are not determined"]
            verb = "is" if len(text) == 1 else "are"
            return [f"only {' and '.join(text)} {verb} determined"]
    out = []
    for v in null:
        moves = ", ".join(f"{n} {c:+.3g}" for n, c in zip(names, v, strict=True) if abs(c) > _SHARE)
        out.append(f"nothing changes along the direction (relative) {moves}")
    return out


def _holds(
    move: Callable[[Array], Array],
    inner: Array,
    moved: list[int],
    live: list[int],
    whole: Array,
    low: Array,
    high: Array,
    before: Array,
    predict: Predict,
) -> bool:
    """Whether the values stay when the parameters move along a claim, far enough to tell a curve."""
    for v in inner:
        for sign in (1.0, -1.0):
            other = whole.copy()
            other[[live[i] for i in moved]] = move(sign * v)
            if ((other >= low) & (other <= high)).all():
                break
        else:
            continue
        alone = whole.copy()
        k = live[moved[int(np.argmax(np.abs(v)))]]
        alone[k] = other[k]
        size = np.abs(predict(alone) - before).max()
        if not np.abs(predict(other) - before).max() <= _HOLDS * size:
            return False
    return True


def _complement(null: Array) -> Array:
    """Rows that span what is orthogonal to the null directions."""
    _, s, Vt = np.linalg.svd(null)
    return np.asarray(Vt[int(np.sum(s > 1e-8 * s[0])) :])


def _rational(rows: Array) -> list[list[Any]] | None:
    """The rows in reduced echelon form with small fractions as entries, if they have such a form."""
    R, place = rows.copy(), 0
    for i in range(len(R)):
        while place < R.shape[1] and np.abs(R[i:, place]).max() < 1e-3:
            place += 1
        if place == R.shape[1]:
            return None
        k = i + int(np.argmax(np.abs(R[i:, place])))
        R[[i, k]] = R[[k, i]]
        R[i] /= R[i, place]
        for j in range(len(R)):
            if j != i:
                R[j] -= R[j, place] * R[i]
        place += 1
    out = []
    for row in R:
        fractions = [Fraction(float(c)).limit_denominator(4) for c in row]
        if any(abs(float(f) - c) > _ROUND * max(1.0, abs(c)) for f, c in zip(fractions, row, strict=True)):
            return None
        out.append([sp.Rational(f.numerator, f.denominator) for f in fractions])
    return out
