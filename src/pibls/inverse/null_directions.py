r"""Identifiability analysis: the null directions ∂g/∂ln θ v = 0 of the data, and a description of them.

A direction along which no measured value changes lies in the null space of the Jacobian. If the data depend
on a product of powers of the parameters, it is constant in ln θ; if they depend on a linear combination, it
is constant in θ. Each form is tested by solving at other parameters along the direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import sympy as sp

from pibls.arrays import Array
from pibls.expressions import Parameter
from pibls.inverse.covariance import RANK_TOLERANCE
from pibls.inverse.identifiability import Identifiability

_MAX_RELATIVE_STD = 0.5  # σ of a direction, in units of its bounds, beyond which it is poorly determined
_MIN_COMPONENT = 1e-3  # relative; smaller components of a direction are ignored
_FRACTION_TOLERANCE = 2e-3  # distance of an exponent from a fraction with a small denominator
_TEST_FACTOR = 1.3  # factor by which parameters are changed to test an invariance
_MAX_RELATIVE_CHANGE = 1e-3  # of the values, over the change caused by one parameter alone

Predict = Callable[[Array], Array]


def assess_identifiability(
    symbols: Sequence[Parameter],
    theta: Array,
    low: Array,
    high: Array,
    jacobian: Array,
    sigma: Array,
    predict: Predict,
) -> Identifiability:
    """Return which parameters the data determine at θ.

    The result follows from the singular values of the Jacobian; its description takes a few further solves.
    """
    A = jacobian / sigma[:, None]
    size = np.where(theta != 0, np.abs(theta), 1.0)
    L = A * size
    columns = np.linalg.norm(L, axis=0)
    without_effect = columns <= RANK_TOLERANCE * columns.max(initial=0.0)
    if not columns.any():
        without_effect[:] = True
    undetermined = [int(i) for i in np.flatnonzero(without_effect)]
    words = [f"{symbols[i]} is not determined: no value depends on it" for i in undetermined]
    found = [{symbols[i]: 1.0} for i in undetermined]
    effective = [int(i) for i in np.flatnonzero(~without_effect)]
    if len(effective):
        unit = L[:, effective] / columns[effective]
        _, s, Vt = np.linalg.svd(unit, full_matrices=len(unit) < len(effective))
        s = np.concatenate([s, np.zeros(len(effective) - len(s))])
        null = Vt[s <= RANK_TOLERANCE * s[0]] / columns[effective]
        if len(null):
            null /= np.abs(null).max(axis=1, keepdims=True)
            words += _describe_null_space(
                [symbols[i] for i in effective], theta[effective], null, effective, theta, low, high, predict
            )
            found += [_as_mapping(symbols, effective, v) for v in null]
        else:
            width = np.where(np.isfinite(high - low), high - low, 10.0 * size)[effective]
            _, weak, Wt = np.linalg.svd(A[:, effective] * width, full_matrices=False)
            for sw, v in zip(weak, Wt, strict=True):
                if sw * _MAX_RELATIVE_STD < 1.0:
                    relative = v * width / size[effective]
                    relative /= np.abs(relative).max()
                    mapping = _as_mapping(symbols, effective, relative)
                    names = _combination(mapping)
                    words.append(
                        f"{names} is poorly determined: its standard deviation is {1 / sw:.1g} of its bounds"
                    )
                    found.append(mapping)
    return Identifiability(not words, tuple(words), tuple(found))


def _as_mapping(symbols: Sequence[Parameter], effective: list[int], v: Array) -> dict[Parameter, float]:
    return {
        symbols[i]: float(c)
        for i, c in zip(effective, v, strict=True)
        if abs(c) > _MIN_COMPONENT * np.abs(v).max()
    }


def _combination(direction: dict[Parameter, float]) -> str:
    if len(direction) == 1:
        return str(next(iter(direction)))
    return "the direction (" + ", ".join(f"{k}: {v:+.2g}" for k, v in direction.items()) + ")"


def _describe_null_space(
    names: list[Parameter],
    theta: Array,
    null: Array,
    effective: list[int],
    full_theta: Array,
    low: Array,
    high: Array,
    predict: Predict,
) -> list[str]:
    """Describe the null directions in a sentence such as "only D*r is determined"."""
    moved = [int(i) for i in np.flatnonzero((np.abs(null) > _MIN_COMPONENT).any(axis=0))]
    if len(moved) == 1:
        return [f"{names[moved[0]]} is not determined: no value depends on it near the optimum"]
    null_part = null[:, moved]
    here = theta[moved]
    chosen = [names[i] for i in moved]
    hypotheses = _hypotheses(chosen, null_part, here)
    values = predict(full_theta)
    for found, move in hypotheses:
        if _is_invariant(move, null_part, moved, effective, full_theta, low, high, values, predict):
            text = [str(sp.nsimplify(e)) for e in found]
            if not text:
                return [f"{', '.join(map(str, chosen))} are not determined"]
            verb = "is" if len(text) == 1 else "are"
            return [f"only {' and '.join(text)} {verb} determined"]
    return [f"no value changes along the direction (relative changes) {_moves(names, v)}" for v in null]


def _hypotheses(
    names: list[Parameter], null: Array, theta: Array
) -> list[tuple[list[Parameter], Callable[[Array], Array]]]:
    """Return products and sums of parameters that may be determined, and moves that leave them unchanged."""
    out: list[tuple[list[Parameter], Callable[[Array], Array]]] = []
    if (theta > 0).all() or (theta < 0).all():
        rows = _rational(_complement(null))
        if rows is not None:
            products = [sp.Mul(*(n**c for n, c in zip(names, row, strict=True))) for row in rows]
            out.append((products, lambda v: theta * np.exp(np.log(_TEST_FACTOR) * v)))
    rows = _rational(_complement(null * theta))
    if rows is not None:
        sums = [sp.Add(*(c * n for n, c in zip(names, row, strict=True))) for row in rows]
        out.append((sums, lambda v: theta * (1.0 + (_TEST_FACTOR - 1.0) * v)))
    return out


def _moves(names: Sequence[Parameter], v: Array) -> str:
    """Return the components of a direction that are not negligible."""
    return ", ".join(f"{n} {c:+.3g}" for n, c in zip(names, v, strict=True) if abs(c) > _MIN_COMPONENT)


def _is_invariant(
    move: Callable[[Array], Array],
    null_part: Array,
    moved: list[int],
    effective: list[int],
    full_theta: Array,
    low: Array,
    high: Array,
    before: Array,
    predict: Predict,
) -> bool:
    """Whether the values stay constant when the parameters move by a finite step along each direction."""
    for v in null_part:
        for sign in (1.0, -1.0):
            other = full_theta.copy()
            other[[effective[i] for i in moved]] = move(sign * v)
            if ((other >= low) & (other <= high)).all():
                break
        else:
            continue
        single = full_theta.copy()
        k = effective[moved[int(np.argmax(np.abs(v)))]]
        single[k] = other[k]
        size = np.abs(predict(single) - before).max()
        if not np.abs(predict(other) - before).max() <= _MAX_RELATIVE_CHANGE * size:
            return False
    return True


def _complement(null: Array) -> Array:
    """Return rows that span the orthogonal complement of the null directions."""
    _, s, Vt = np.linalg.svd(null)
    return np.asarray(Vt[int(np.sum(s > 1e-8 * s[0])) :])


def _rational(rows: Array) -> list[list[sp.Rational]] | None:
    """Return the reduced row echelon form as fractions with small denominators, or None."""
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
        if any(
            abs(float(f) - c) > _FRACTION_TOLERANCE * max(1.0, abs(c))
            for f, c in zip(fractions, row, strict=True)
        ):
            return None
        out.append([sp.Rational(f.numerator, f.denominator) for f in fractions])
    return out
