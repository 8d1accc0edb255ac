"""Textbook problems from many fields, with references that are independent of pibls.

Every entry of `PROBLEMS` states a problem as a new user would write it, with a reference for each unknown: an
exact solution, a series or integral summed to convergence, or a computation of this module (adaptive spectral
collocation in time, piecewise Chebyshev collocation for boundary value problems, Fourier and Chebyshev collocation
for partial differential equations), compared with a second, independent computation. `verify()` checks all
references without the solver; `run()` measures the solver.

    python textbook.py verify [name ...]
    python textbook.py run [name ...] [--seeds 0 1] [--time-limit 60] [--jobs 1] [--out results.json]
    python textbook.py list
"""
# ruff: noqa: E501, RUF007, RUF059, E731, C416

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from dataclasses import field as default
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import numpy.typing as npt
import scipy.integrate
import scipy.special
import sympy as sp
from sympy.core.function import AppliedUndef

if TYPE_CHECKING:
    import pibls

Array = npt.NDArray[Any]
Reference = Callable[..., Array]
References = Mapping[str, Reference]
Lazy = Callable[[], References]

x, y, z, t, r = sp.symbols("x y z t r")
S, tau = sp.symbols("S tau")
pi = sp.pi


# ------------------------------------------------------------------------------------------------------------
# The entries
# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """One problem, its reference, and what is known about both."""

    name: str
    group: str
    field: str
    source: str
    build: Callable[[], pibls.Problem]
    state: Callable[[Any], Any]
    reference: References
    accuracy: float
    tags: tuple[str, ...]
    tol: float
    expected: str
    exact: Mapping[str, sp.Expr] = default(default_factory=dict)
    second: References = default(default_factory=dict)
    also: tuple[References, ...] = ()
    interfaces: Mapping[str, tuple[float, ...]] = default(default_factory=dict)
    patch: float = 0.02
    residual_tol: float = 1e-6
    second_tol: float | None = None
    extra: Callable[[], float] | None = None

    @property
    def recorded(self) -> Recorded:
        """The problem as SymPy expressions and plain records, stated without the solver."""
        recorded: Recorded = self.state(Recorder)
        return recorded


PROBLEMS: list[Entry] = []


def _numpy(expression: sp.Expr, state: Callable[[Any], Any]) -> Reference:
    """A NumPy function of the coordinate arrays for a SymPy expression, compiled when first called."""

    @cache
    def compiled() -> Callable[..., Any]:
        function: Callable[..., Any] = sp.lambdify(
            state(Recorder).coordinates, expression, modules=["scipy", "numpy"]
        )
        return function

    def evaluate(*arrays: npt.ArrayLike) -> Array:
        raw = compiled()
        values = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arrays))
        with np.errstate(all="ignore"):
            result = np.asarray(raw(*values), dtype=float)
        return np.broadcast_to(result, values[0].shape).copy()

    return evaluate


def _lazy(make: Lazy, names: Iterable[str]) -> References:
    """References computed when first called."""
    cached = cache(make)
    return {name: (lambda *c, _n=name: np.asarray(cached()[_n](*c), dtype=float)) for name in names}


def textbook(
    group: str,
    area: str,
    source: str,
    *,
    tags: str,
    exact: Mapping[str, sp.Expr] | None = None,
    numeric: Lazy | None = None,
    second: Lazy | None = None,
    unknowns: str = "u",
    accuracy: float = 1e-13,
    tol: float = 1e-8,
    expected: str = "converged",
    also: tuple[Mapping[str, sp.Expr] | Lazy, ...] = (),
    interfaces: Mapping[str, tuple[float, ...]] | None = None,
    patch: float = 0.02,
    residual_tol: float = 1e-6,
    second_tol: float | None = None,
    extra: Callable[[], float] | None = None,
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register the decorated statement as an entry named like the function.

    The statement receives the module that offers the language (`pibls`, or the recorder used by `verify`).
    """

    def register(state: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def build() -> pibls.Problem:
            import pibls

            problem: pibls.Problem = state(pibls)
            return problem

        reference: References = {}
        if exact is not None:
            reference = {name: _numpy(e, state) for name, e in exact.items()}
        elif numeric is not None:
            reference = _lazy(numeric, unknowns.split())
        PROBLEMS.append(
            Entry(
                name=state.__name__.strip("_"),
                group=group,
                field=area,
                source=source,
                build=build,
                state=state,
                reference=reference,
                accuracy=accuracy,
                tags=tuple(tags.split(", ")),
                tol=tol,
                expected=expected,
                exact=dict(exact or {}),
                second=_lazy(second, reference) if second is not None else {},
                also=tuple(
                    _lazy(a, reference) if callable(a) else {n: _numpy(e, state) for n, e in a.items()}
                    for a in also
                ),
                interfaces=dict(interfaces or {}),
                patch=patch,
                residual_tol=residual_tol,
                second_tol=second_tol,
                extra=extra,
            )
        )
        return state

    return register


# ------------------------------------------------------------------------------------------------------------
# A stand-in for the language, which only writes down what was said
# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """A problem as it was stated."""

    bounds: dict[str, tuple[float, float]]
    time: str | None
    equations: list[sp.Expr]
    conditions: list[Said]

    @property
    def coordinates(self) -> list[sp.Symbol]:
        """The coordinates as symbols, in order."""
        return [sp.Symbol(c) for c in self.bounds]

    @property
    def unknowns(self) -> dict[str, AppliedUndef]:
        """The unknown functions by name."""
        found: set[AppliedUndef] = set().union(*(e.atoms(AppliedUndef) for e in self.equations))
        return {str(f.func): f for f in sorted(found, key=str)}


@dataclass(frozen=True)
class Said:
    """One condition as it was stated: `what` is an expression meant to equal `value`."""

    kind: str
    what: Any
    value: Any
    on: Any = None
    extra: Any = None


class _Vector:
    """A gradient that remembers its coordinates."""

    def __init__(self, components: Sequence[sp.Expr], coordinates: Sequence[sp.Symbol]) -> None:
        self.components, self.coordinates = list(components), list(coordinates)

    def __rmul__(self, factor: sp.Expr) -> _Vector:
        return _Vector([factor * c for c in self.components], self.coordinates)


class _Space:
    """A box with an optional time."""

    def __init__(self, bounds: Mapping[sp.Symbol, Sequence[Any]], time: sp.Symbol | None = None) -> None:
        self.bounds, self.time = dict(bounds), time

    def during(self, symbol: sp.Symbol, start: Any, end: Any) -> _Space:
        return _Space({**self.bounds, symbol: (start, end)}, symbol)


class Recorder:
    """The part of the language that the statements use."""

    DN = sp.Function("dn")

    @staticmethod
    def Interval(symbol: sp.Symbol, a: Any, b: Any) -> _Space:
        """The interval from a to b."""
        return _Space({symbol: (a, b)})

    @staticmethod
    def Box(bounds: Mapping[sp.Symbol, Sequence[Any]]) -> _Space:
        """A box."""
        return _Space(bounds)

    @staticmethod
    def Dirichlet(u: Any, value: Any, on: Any = None) -> Said:
        """The unknown is given."""
        return Said("dirichlet", u, value, on)

    @staticmethod
    def Neumann(u: Any, value: Any, on: Any = None) -> Said:
        """The outward derivative is given."""
        return Said("neumann", u, value, on)

    @staticmethod
    def Robin(u: Any, value: Any, alpha: Any, beta: Any, on: Any = None) -> Said:
        """A mixture of both is given."""
        return Said("robin", u, value, on, (alpha, beta))

    @staticmethod
    def Periodic(u: Any, symbol: sp.Symbol) -> Said:
        """Both faces agree."""
        return Said("periodic", u, 0, None, symbol)

    @staticmethod
    def Initial(u: Any, value: Any) -> Said:
        """Given at the start."""
        return Said("initial", u, value)

    @staticmethod
    def Condition(equation: Any, on: Any = None) -> Said:
        """Any equation."""
        what = equation.lhs - equation.rhs if isinstance(equation, sp.Eq) else equation
        return Said("condition", what, 0, on)

    @staticmethod
    def grad(u: Any) -> _Vector:
        """The gradient."""
        return _Vector([u.diff(c) for c in u.args], u.args)

    @staticmethod
    def div(v: _Vector) -> sp.Expr:
        """The divergence in flux form."""
        return sp.Add(*(sp.Derivative(f, c) for f, c in zip(v.components, v.coordinates, strict=True)))

    @staticmethod
    def Problem(domain: _Space, equations: Sequence[Any], conditions: Sequence[Said]) -> Recorded:
        """The whole problem."""
        zero = [e.lhs - e.rhs if isinstance(e, sp.Eq) else sp.sympify(e) for e in equations]
        bounds = {str(c): (float(a), float(b)) for c, (a, b) in domain.bounds.items()}
        return Recorded(bounds, str(domain.time) if domain.time is not None else None, zero, list(conditions))


# ------------------------------------------------------------------------------------------------------------
# Numerical references of this file's own
# ------------------------------------------------------------------------------------------------------------


@cache
def _chebyshev(n: int) -> tuple[Array, Array]:
    """Chebyshev points from -1 to 1 and the differentiation matrix on them."""
    nodes = -np.cos(np.pi * np.arange(n + 1) / n)
    weights = np.where(np.arange(n + 1) % 2 == 0, 1.0, -1.0)
    weights[[0, -1]] *= 0.5
    gap = nodes[:, None] - nodes[None, :] + np.eye(n + 1)
    matrix = weights[None, :] / weights[:, None] / gap
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return nodes, matrix


@cache
def _coefficients(n: int) -> Array:
    """The matrix from values at Chebyshev points to Chebyshev coefficients."""
    nodes, _ = _chebyshev(n)
    matrix: Array = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, n))
    return matrix


def _piecewise(breaks: Array, coefficients: Array) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Evaluate piecewise Chebyshev series; coefficients have the shape (pieces, degree + 1, components)."""

    def evaluate(points: npt.ArrayLike) -> npt.NDArray[Any]:
        flat = np.asarray(points, dtype=float).ravel()
        k = np.clip(np.searchsorted(breaks, flat, side="right") - 1, 0, len(breaks) - 2)
        s = (2 * flat - breaks[k] - breaks[k + 1]) / (breaks[k + 1] - breaks[k])
        vander = np.polynomial.chebyshev.chebvander(s, coefficients.shape[1] - 1)
        found: npt.NDArray[Any] = np.einsum("pj,pjd->dp", vander, coefficients[k])
        return found

    return evaluate


def _jacobian(rhs: Callable[..., Array], s: Array, values: Array) -> Array:
    """Difference quotients of the right-hand side by the components, (d, d, points)."""
    base = rhs(s, values)
    result = np.empty((len(values), len(values), len(s)))
    for j in range(len(values)):
        step = 1e-7 * np.maximum(np.abs(values[j]), 1e-3 * np.max(np.abs(values[j])) + 1e-12)
        moved = values.copy()
        moved[j] += step
        result[:, j] = (rhs(s, moved) - base) / step
    return result


def spectral_ivp(
    rhs: Callable[[Array, Array], Any],
    start: Sequence[float],
    end: float,
    *,
    n: int = 20,
    tail: float = 3e-15,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Adaptive Chebyshev collocation in windows for y' = rhs(t, y), from 0 to end."""

    def f(s: Array, v: Array) -> Array:
        return np.array([np.broadcast_to(c, s.shape) for c in rhs(s, v)], dtype=float)

    nodes, matrix = _chebyshev(n)
    integrate, to_coefficients = np.linalg.inv(matrix[1:, 1:]), _coefficients(n)
    now, value, h = 0.0, np.array(start, dtype=float), end / 50
    size = np.abs(value) + 1e-300
    d, breaks, pieces = len(value), [0.0], []
    while now < end * (1 - 1e-14):
        h = min(h, end - now)
        s = now + h * (nodes[1:] + 1) / 2
        guess, good = np.repeat(value[:, None], n, axis=1), False
        for iteration in range(25):
            defect = guess - value[:, None] - h / 2 * f(s, guess) @ integrate.T
            if not np.all(np.isfinite(defect)):
                break
            if iteration % 3 == 0 or iteration < 4:
                jac = _jacobian(f, s, guess)
                big = np.eye(d * n) - h / 2 * np.einsum("pq,ijq->ipjq", integrate, jac).reshape(d * n, d * n)
                inverse = np.linalg.inv(big)
            step = (inverse @ defect.ravel()).reshape(d, n)
            guess = guess - step
            if np.all(np.abs(step).max(axis=1) <= 1e-15 * np.maximum(size, np.abs(guess).max(axis=1))):
                good = True
                break
            if iteration > 8 and np.all(np.abs(step).max(axis=1) <= 4e-14 * np.maximum(size, 1e-300)):
                good = True
                break
        series = to_coefficients @ np.column_stack([value, guess]).T
        scale = np.maximum(size, np.abs(guess).max(axis=1))
        remainder = np.max(np.abs(series[-2:]).max(axis=0) / scale) if good else np.inf
        if remainder > tail and h > end * 1e-12:
            h *= 0.6
            continue
        now += h
        breaks.append(now)
        pieces.append(series)
        value, size = guess[:, -1].copy(), scale
        h *= 1.4 if remainder < tail / 8 else 1.0
    breaks[-1] = end
    return _piecewise(np.array(breaks), np.array(pieces))


def dop853(
    rhs: Callable[..., Any], start: Sequence[float], end: float, method: str = "DOP853"
) -> Callable[..., Any]:
    """SciPy's solution of the same equations, as a second opinion."""
    size = np.maximum(np.abs(np.array(start, dtype=float)), 1e-6)
    rtol = 1e-13 if method == "DOP853" else 3e-12
    sol = scipy.integrate.solve_ivp(
        rhs, (0.0, end), list(start), method=method, rtol=rtol, atol=rtol * size * 1e-2, dense_output=True
    )
    return lambda s: sol.sol(np.asarray(s, dtype=float).ravel())


def _ivp(
    names: str, rhs: Callable[..., Any], start: Sequence[float], end: float, method: str | None = None
) -> Lazy:
    """References of an initial value problem; components beyond the names are derivatives."""

    def make() -> References:
        solve = spectral_ivp(rhs, start, end) if method is None else dop853(rhs, start, end, method)
        return {
            name: (lambda s, _i=i: np.reshape(solve(s)[_i], np.shape(s)))
            for i, name in enumerate(names.split())
        }

    return make


def spectral_bvp(
    rhs: Callable[[Array, Array], Any],
    ends: Callable[[Array, Array], Any],
    breaks: Sequence[float],
    guess: Callable[[Array], Any],
    *,
    n: int = 24,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Piecewise Chebyshev collocation with Newton for y' = rhs(x, y), ends(y(a), y(b)) = 0."""
    edges, (nodes, matrix) = np.array(breaks, dtype=float), _chebyshev(n)
    pieces = len(edges) - 1
    s = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()

    def f(p: Array, v: Array) -> Array:
        return np.array([np.broadcast_to(c, p.shape) for c in rhs(p, v)], dtype=float)

    values = np.array([np.broadcast_to(c, s.shape) for c in guess(s)], dtype=float)
    d, m = values.shape
    derive = np.zeros((m, m))
    for k in range(pieces):
        here = slice(k * (n + 1), (k + 1) * (n + 1))
        derive[here, here] = matrix * 2 / (edges[k + 1] - edges[k])
    keep = np.array([i for i in range(m) if i % (n + 1) != 0])
    joins = [(k * (n + 1) - 1, k * (n + 1)) for k in range(1, pieces)]
    damping = 1.0
    for _ in range(200):
        jac = _jacobian(f, s, values)
        rows, defects = [], []
        residual = values @ derive.T - f(s, values)
        for i in range(d):
            block = np.zeros((len(keep), d, m))
            block[:, i, :] = derive[keep]
            for j in range(d):
                block[np.arange(len(keep)), j, keep] -= jac[i, j, keep]
            rows.append(block.reshape(len(keep), d * m))
            defects.append(residual[i, keep])
            for left, right in joins:
                row = np.zeros((d, m))
                row[i, left], row[i, right] = 1.0, -1.0
                rows.append(row.reshape(1, -1))
                defects.append(np.array([values[i, left] - values[i, right]]))
        base = np.array(ends(values[:, 0], values[:, -1]), dtype=float)
        block = np.zeros((len(base), d, m))
        for j in range(d):
            for at in (0, m - 1):
                moved = [values[:, 0].copy(), values[:, -1].copy()]
                step = 1e-7 * max(abs(values[j, at]), 1e-3)
                moved[0 if at == 0 else 1][j] += step
                block[:, j, at] += (np.array(ends(*moved), dtype=float) - base) / step
        rows.append(block.reshape(len(base), d * m))
        defects.append(base)
        big, defect = np.vstack(rows), np.concatenate(defects)
        weight = 1 / np.abs(big).max(axis=1)
        update = np.linalg.solve(big * weight[:, None], defect * weight).reshape(d, m)
        relative = np.max(np.abs(update).max(axis=1) / (np.abs(values).max(axis=1) + 1e-300))
        damping = min(1.0, 0.7 / relative) if relative > 0.7 else 1.0
        values = values - damping * update
        if relative < 3e-13:
            break
    series = np.einsum("ij,pjd->pid", _coefficients(n), values.T.reshape(pieces, n + 1, d))
    return _piecewise(edges, series)


def _bvp(
    names: str,
    rhs: Callable[..., Any],
    ends: Callable[..., Any],
    breaks: Sequence[float],
    guess: Callable[..., Any],
    scipy_tol: float | None = None,
) -> Lazy:
    """References of a boundary value problem, by collocation of our own or by SciPy's solve_bvp."""

    def make() -> References:
        if scipy_tol is None:
            solve = spectral_bvp(rhs, ends, breaks, guess)
        else:
            mesh = np.unique(
                np.concatenate([np.linspace(a, b, 60) for a, b in zip(breaks, breaks[1:], strict=False)])
            )
            start = np.array([np.broadcast_to(c, mesh.shape) for c in guess(mesh)], dtype=float)
            full = lambda s, v: np.array([np.broadcast_to(c, s.shape) for c in rhs(s, v)])
            bc = lambda a, b: np.array(ends(a, b))
            found = scipy.integrate.solve_bvp(full, bc, mesh, start, tol=scipy_tol, max_nodes=200000)
            solve = lambda s: found.sol(np.asarray(s, dtype=float).ravel())
        return {
            name: (lambda s, _i=i: np.reshape(solve(s)[_i], np.shape(s)))
            for i, name in enumerate(names.split())
        }

    return make


def semilinear(
    rates: npt.NDArray[Any],
    start: npt.NDArray[Any],
    nonlinear: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    breaks: Sequence[float],
    n: int = 14,
) -> Callable[[npt.ArrayLike], npt.NDArray[Any]]:
    """Chebyshev collocation in time for y' = rates*y + nonlinear(y), the linear part being implicit and exact.

    The state is (modes,), `nonlinear` maps (modes, times) to the same shape. The windows are the breaks.
    """
    nodes, matrix = _chebyshev(n)
    integrate, to_coefficients = np.linalg.inv(matrix[1:, 1:]), _coefficients(n)
    value, pieces = start.copy(), []
    for a, b in zip(breaks, breaks[1:], strict=False):
        h = b - a
        solver = np.linalg.inv(np.eye(n)[None] - h / 2 * rates[:, None, None] * integrate[None])
        guess, before = np.repeat(value[:, None], n, axis=1), np.inf
        for _ in range(80):
            right = value[:, None] + h / 2 * nonlinear(guess) @ integrate.T
            new = np.einsum("mpq,mq->mp", solver, right)
            change = np.max(np.abs(new - guess)) / np.max(np.abs(new))
            guess = new
            if change < 5e-16 or (change < 1e-13 and change > before / 2):
                break
            before = change
        pieces.append(to_coefficients @ np.column_stack([value, guess]).T)
        value = guess[:, -1].copy()
    return _piecewise(np.array(breaks, dtype=float), np.array(pieces))


def _on_times(
    solve: Callable[[npt.ArrayLike], npt.NDArray[Any]],
    basis: Callable[[Array], npt.NDArray[Any]],
    part: slice,
) -> Reference:
    """A function of (x, t) from modes in time and their shapes in space, (points, modes)."""

    def evaluate(xs: Array, ts: Array) -> Array:
        xs, ts = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ts, dtype=float))
        modes = solve(ts.ravel())[part]
        values = np.einsum("pm,mp->p", basis(xs.ravel()), modes)
        found: Array = np.real(values).reshape(xs.shape)
        return found

    return evaluate


def _found(function: Callable[[Any], Any], start: float) -> sp.Float:
    """A root to thirty digits."""
    with mpmath.workdps(35):
        return sp.Float(mpmath.nstr(mpmath.findroot(function, start), 32), 32)


def _summed(term: Callable[..., Array], numbers: Array, *arrays: Array, chunk: int = 400) -> Array:
    """The sum over the numbers of term(number, *coordinates), at scattered points in chunks."""
    coordinates = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in arrays))
    flat = [c.ravel() for c in coordinates]
    result = np.empty(flat[0].size)
    for a in range(0, result.size, chunk):
        result[a : a + chunk] = np.sum(
            term(numbers[None, :], *(c[a : a + chunk, None] for c in flat)), axis=1
        )
    return result.reshape(coordinates[0].shape)


# ------------------------------------------------------------------------------------------------------------
# (a) Ordinary initial value problems
# ------------------------------------------------------------------------------------------------------------

_u, _v, _w = sp.Function("u"), sp.Function("v"), sp.Function("w")


@textbook(
    "ode",
    "heat transfer",
    "Boyce-DiPrima style",
    tags="smooth, offset, units",
    exact={"u": sp.Float("293.15") + 75 * sp.exp(-sp.Rational(12, 10000) * t)},
)
def cooling_cup(p: Any) -> Any:
    """Newton's law of cooling, kelvin and seconds."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 3600), [sp.Eq(u.diff(t), -1.2e-3 * (u - 293.15))], [p.Initial(u, 368.15)]
    )


@textbook(
    "ode",
    "biology",
    "Murray style",
    tags="smooth, nonlinear, units",
    exact={"u": 10000 / (1 + 199 * sp.exp(-sp.Rational(4, 5) * t))},
)
def logistic_colony(p: Any) -> Any:
    """Logistic growth of a colony counted in individuals."""
    u = _u(t)
    return p.Problem(p.Interval(t, 0, 30), [sp.Eq(u.diff(t), 0.8 * u * (1 - u / 10000))], [p.Initial(u, 50)])


_damped = sp.sqrt(4 - sp.Rational(1, 100))


@textbook(
    "ode",
    "mechanics",
    "Boyce-DiPrima style",
    tags="smooth, oscillation",
    exact={"u": sp.exp(-t / 10) * (sp.cos(_damped * t) + sp.sin(_damped * t) / (10 * _damped))},
)
def damped_spring(p: Any) -> Any:
    """A damped spring over a dozen periods."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [u.diff(t, 2) + sp.Rational(1, 5) * u.diff(t) + 4 * u],
        [p.Initial(u, 1), p.Initial(u.diff(t), 0)],
    )


@textbook(
    "ode",
    "mechanics",
    "Boyce-DiPrima style",
    tags="smooth, oscillation, long evolution",
    exact={"u": sp.Rational(25, 18) * (sp.cos(sp.Rational(4, 5) * t) - sp.cos(t))},
)
def beats(p: Any) -> Any:
    """Forcing close to the natural frequency, several beats."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 100),
        [sp.Eq(u.diff(t, 2) + u, sp.Rational(1, 2) * sp.cos(sp.Rational(4, 5) * t))],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


@textbook(
    "ode", "mechanics", "Arnold style", tags="oscillation, long evolution", exact={"u": sp.cos(2 * pi * t)}
)
def hundred_periods(p: Any) -> Any:
    """A harmonic oscillator over one hundred periods."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 100), [u.diff(t, 2) + 4 * pi**2 * u], [p.Initial(u, 1), p.Initial(u.diff(t), 0)]
    )


@textbook(
    "ode",
    "mechanics",
    "Nayfeh style",
    tags="nonlinear, oscillation",
    numeric=_ivp("u", lambda s, v: (v[1], -v[0] - v[0] ** 3), (1, 0), 30.0),
    second=lambda: {"u": lambda s: scipy.special.ellipj(math.sqrt(2) * np.asarray(s), 0.25)[1]},
    accuracy=1e-12,
)
def duffing(p: Any) -> Any:
    """A hardening spring; the second reference is Jacobi's cn."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 30), [u.diff(t, 2) + u + u**3], [p.Initial(u, 1), p.Initial(u.diff(t), 0)]
    )


def _pendulum() -> References:
    """The pendulum by Jacobi's functions: sin(angle/2) = k sn(K + w t)."""
    k, w = math.sin(1.25), math.sqrt(9.81)
    quarter = scipy.special.ellipk(k * k)
    return {"u": lambda s: 2 * np.arcsin(k * scipy.special.ellipj(quarter + w * np.asarray(s), k * k)[0])}


@textbook(
    "ode",
    "mechanics",
    "Taylor style",
    tags="nonlinear, oscillation, units",
    numeric=_ivp("u", lambda s, v: (v[1], -9.81 * np.sin(v[0])), (2.5, 0), 20.0),
    second=_pendulum,
    accuracy=1e-12,
)
def pendulum_wide(p: Any) -> Any:
    """A pendulum let go from 143 degrees."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 20),
        [sp.Eq(u.diff(t, 2), -9.81 * sp.sin(u))],
        [p.Initial(u, 2.5), p.Initial(u.diff(t), 0)],
    )


def _van_der_pol(mu: float) -> Callable[..., Any]:
    return lambda s, v: (v[1], mu * (1 - v[0] ** 2) * v[1] - v[0])


@textbook(
    "ode",
    "electronics",
    "Strogatz style",
    tags="nonlinear, oscillation",
    numeric=_ivp("u", _van_der_pol(1.0), (0.5, 0), 25.0),
    second=_ivp("u", _van_der_pol(1.0), (0.5, 0), 25.0, "DOP853"),
    accuracy=1e-11,
)
def van_der_pol(p: Any) -> Any:
    """The onset of a limit cycle."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 25),
        [u.diff(t, 2) - (1 - u**2) * u.diff(t) + u],
        [p.Initial(u, 0.5), p.Initial(u.diff(t), 0)],
    )


@textbook(
    "ode",
    "electronics",
    "Hairer-Wanner style",
    tags="nonlinear, stiff, layer",
    numeric=_ivp("u", _van_der_pol(100.0), (2, 0), 200.0),
    second=_ivp("u", _van_der_pol(100.0), (2, 0), 200.0, "Radau"),
    accuracy=1e-10,
    tol=1e-5,
    patch=1e-3,
    residual_tol=1e-5,
)
def van_der_pol_stiff(p: Any) -> Any:
    """A relaxation oscillation with two sudden jumps."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 200),
        [u.diff(t, 2) - 100 * (1 - u**2) * u.diff(t) + u],
        [p.Initial(u, 2), p.Initial(u.diff(t), 0)],
    )


_prey = (lambda s, v: (1.1 * v[0] - 0.4 * v[0] * v[1], 0.1 * v[0] * v[1] - 0.4 * v[1]), (10, 10), 40.0)


@textbook(
    "ode",
    "biology",
    "Murray style",
    tags="nonlinear, system, oscillation",
    unknowns="u v",
    numeric=_ivp("u v", *_prey),
    second=_ivp("u v", *_prey, "DOP853"),
    accuracy=1e-11,
)
def predator_prey(p: Any) -> Any:
    """Predators and prey over several cycles."""
    u, v = _u(t), _v(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [sp.Eq(u.diff(t), 1.1 * u - 0.4 * u * v), sp.Eq(v.diff(t), 0.1 * u * v - 0.4 * v)],
        [p.Initial(u, 10), p.Initial(v, 10)],
    )


_lorenz = (
    lambda s, v: (10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]),
    (1, 1, 1),
    12.0,
)


@textbook(
    "ode",
    "meteorology",
    "Strogatz style",
    tags="nonlinear, system, chaotic",
    unknowns="u v w",
    numeric=_ivp("u v w", *_lorenz),
    second=_ivp("u v w", *_lorenz, "DOP853"),
    accuracy=1e-11,
    tol=1e-6,
    patch=0.005,
)
def lorenz(p: Any) -> Any:
    """Lorenz' convection over a moderate time."""
    u, v, w = _u(t), _v(t), _w(t)
    return p.Problem(
        p.Interval(t, 0, 12),
        [
            sp.Eq(u.diff(t), 10 * (v - u)),
            sp.Eq(v.diff(t), u * (28 - w) - v),
            sp.Eq(w.diff(t), u * v - sp.Rational(8, 3) * w),
        ],
        [p.Initial(u, 1), p.Initial(v, 1), p.Initial(w, 1)],
    )


def _kepler() -> References:
    """The ellipse of eccentricity 0.6 by Kepler's equation."""
    e = 0.6

    def anomaly(s: Array) -> Array:
        mean = np.asarray(s, dtype=float)
        found: Array = mean + e * np.sin(mean)
        for _ in range(60):
            found = found - (found - e * np.sin(found) - mean) / (1 - e * np.cos(found))
        return found

    return {"u": lambda s: np.cos(anomaly(s)) - e, "v": lambda s: math.sqrt(1 - e * e) * np.sin(anomaly(s))}


_pull = (
    lambda s, v: (v[2], v[3], -v[0] / np.hypot(v[0], v[1]) ** 3, -v[1] / np.hypot(v[0], v[1]) ** 3),
    (0.4, 0, 0, 2.0),
    30.0,
)


@textbook(
    "ode",
    "celestial mechanics",
    "Goldstein style",
    tags="nonlinear, system, oscillation, long evolution",
    unknowns="u v",
    numeric=_kepler,
    second=_ivp("u v", *_pull),
    accuracy=1e-12,
    patch=0.01,
)
def kepler_ellipse(p: Any) -> Any:
    """Almost five revolutions of an eccentric orbit."""
    u, v = _u(t), _v(t)
    cube = (u**2 + v**2) ** sp.Rational(3, 2)
    return p.Problem(
        p.Interval(t, 0, 30),
        [sp.Eq(u.diff(t, 2), -u / cube), sp.Eq(v.diff(t, 2), -v / cube)],
        [p.Initial(u, 0.4), p.Initial(u.diff(t), 0), p.Initial(v, 0), p.Initial(v.diff(t), 2)],
    )


_robertson = (
    lambda s, v: (
        -0.04 * v[0] + 1e4 * v[1] * v[2],
        0.04 * v[0] - 1e4 * v[1] * v[2] - 3e7 * v[1] ** 2,
        3e7 * v[1] ** 2,
    ),
    (1, 0, 0),
    40.0,
)


@textbook(
    "ode",
    "chemistry",
    "Hairer-Wanner style",
    tags="nonlinear, system, stiff, layer, different sizes",
    unknowns="u v w",
    numeric=_ivp("u v w", *_robertson),
    second=_ivp("u v w", *_robertson, "Radau"),
    accuracy=1e-11,
    tol=1e-6,
    patch=1e-3,
)
def robertson(p: Any) -> Any:
    """Robertson's autocatalysis, the middle species being five orders smaller."""
    u, v, w = _u(t), _v(t), _w(t)
    return p.Problem(
        p.Interval(t, 0, 40),
        [
            sp.Eq(u.diff(t), -0.04 * u + 1e4 * v * w),
            sp.Eq(v.diff(t), 0.04 * u - 1e4 * v * w - 3e7 * v**2),
            sp.Eq(w.diff(t), 3e7 * v**2),
        ],
        [p.Initial(u, 1), p.Initial(v, 0), p.Initial(w, 0)],
    )


@textbook(
    "ode",
    "control",
    "Hairer-Wanner style",
    tags="stiff, layer",
    exact={"u": sp.cos(t) + sp.exp(-1000 * t) / 2},
)
def stiff_tracking(p: Any) -> Any:
    """A fast relaxation towards a slow signal, started off the signal."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 3),
        [sp.Eq(u.diff(t), -1000 * (u - sp.cos(t)) - sp.sin(t))],
        [p.Initial(u, sp.Rational(3, 2))],
    )


@textbook(
    "ode", "combustion", "Boyce-DiPrima style", tags="nonlinear, near blow-up", exact={"u": 1 / (1 - t)}
)
def almost_blow_up(p: Any) -> Any:
    """The solution grows to one hundred just before it would explode."""
    u = _u(t)
    return p.Problem(p.Interval(t, 0, 0.99), [sp.Eq(u.diff(t), u**2)], [p.Initial(u, 1)])


@textbook("ode", "optics", "Olver style", tags="oscillation, smooth", exact={"u": sp.airyai(-t)})
def airy_rainbow(p: Any) -> Any:
    """Airy's function towards its oscillations."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 25),
        [u.diff(t, 2) + t * u],
        [p.Initial(u, sp.airyai(0).evalf(20)), p.Initial(u.diff(t), -sp.airyaiprime(0).evalf(20))],
    )


_blasius = (lambda s, v: (v[1], v[2], -0.5 * v[0] * v[2]), (0, 0, 0.332057336215), 8.0)


@textbook(
    "ode",
    "fluids",
    "Schlichting style",
    tags="nonlinear, third order, smooth",
    numeric=_ivp("u", *_blasius),
    second=_ivp("u", *_blasius, "DOP853"),
    accuracy=1e-12,
    patch=0.05,
)
def blasius_shot(p: Any) -> Any:
    """The boundary layer equation with the wall shear given."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 8),
        [u.diff(t, 3) + u * u.diff(t, 2) / 2],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0), p.Initial(u.diff(t, 2), 0.332057336215)],
    )


_ring = sp.sqrt(sp.Integer(10) ** 9 - 25 * sp.Integer(10) ** 6)


@textbook(
    "ode",
    "electronics",
    "Nilsson-Riedel style",
    tags="units, oscillation",
    exact={
        "u": sp.Rational(5, 10**6)
        * (1 - sp.exp(-5000 * t) * (sp.cos(_ring * t) + 5000 / _ring * sp.sin(_ring * t)))
    },
)
def ringing_circuit(p: Any) -> Any:
    """The charge in a series RLC circuit (1 mH, 10 ohm, 1 uF) after 5 V are switched on, in SI units."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 2e-3),
        [sp.Eq(1e-3 * u.diff(t, 2) + 10 * u.diff(t) + u / 1e-6, 5)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


_drag = sp.Rational(3, 1000)


@textbook(
    "ode",
    "mechanics",
    "Marion style",
    tags="nonlinear, units, smooth",
    exact={"u": sp.log(sp.cosh(sp.sqrt(_drag * sp.Rational(981, 100)) * t)) / _drag},
)
def sky_diver(p: Any) -> Any:
    """Metres fallen against quadratic drag."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 60),
        [sp.Eq(u.diff(t, 2), 9.81 - 0.003 * u.diff(t) ** 2)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0)],
    )


_enzyme = (lambda s, v: (-v[0] + (v[0] + 0.6) * v[1], (v[0] - (v[0] + 1.0) * v[1]) / 0.01), (1, 0), 4.0)


@textbook(
    "ode",
    "chemistry",
    "Murray style",
    tags="nonlinear, system, stiff, layer",
    unknowns="u v",
    numeric=_ivp("u v", *_enzyme),
    second=_ivp("u v", *_enzyme, "DOP853"),
    accuracy=1e-11,
    patch=2e-3,
)
def enzyme(p: Any) -> Any:
    """Substrate and complex with a fast first phase."""
    u, v = _u(t), _v(t)
    return p.Problem(
        p.Interval(t, 0, 4),
        [sp.Eq(u.diff(t), -u + (u + 0.6) * v), sp.Eq(0.01 * v.diff(t), u - (u + 1) * v)],
        [p.Initial(u, 1), p.Initial(v, 0)],
    )


_sir = (
    lambda s, v: (-0.3e-6 * v[0] * v[1], 0.3e-6 * v[0] * v[1] - 0.1 * v[1], 0.1 * v[1]),
    (999990, 10, 0),
    160.0,
)


@textbook(
    "ode",
    "epidemiology",
    "Brauer style",
    tags="nonlinear, system, units, different sizes",
    unknowns="u v w",
    numeric=_ivp("u v w", *_sir),
    second=_ivp("u v w", *_sir, "DOP853"),
    accuracy=1e-10,
)
def epidemic(p: Any) -> Any:
    """A million people, ten of them ill, in days."""
    u, v, w = _u(t), _v(t), _w(t)
    beta = 0.3 / 1_000_000
    return p.Problem(
        p.Interval(t, 0, 160),
        [
            sp.Eq(u.diff(t), -beta * u * v),
            sp.Eq(v.diff(t), beta * u * v - 0.1 * v),
            sp.Eq(w.diff(t), 0.1 * v),
        ],
        [p.Initial(u, 999990), p.Initial(v, 10), p.Initial(w, 0)],
    )


_brusselator = (lambda s, v: (1 + v[0] ** 2 * v[1] - 4 * v[0], 3 * v[0] - v[0] ** 2 * v[1]), (1.5, 3), 30.0)


@textbook(
    "ode",
    "chemistry",
    "Hairer-Norsett-Wanner style",
    tags="nonlinear, system, oscillation",
    unknowns="u v",
    numeric=_ivp("u v", *_brusselator),
    second=_ivp("u v", *_brusselator, "DOP853"),
    accuracy=1e-11,
    patch=5e-3,
)
def brusselator(p: Any) -> Any:
    """A chemical clock."""
    u, v = _u(t), _v(t)
    return p.Problem(
        p.Interval(t, 0, 30),
        [sp.Eq(u.diff(t), 1 + u**2 * v - 4 * u), sp.Eq(v.diff(t), 3 * u - u**2 * v)],
        [p.Initial(u, 1.5), p.Initial(v, 3)],
    )


_ra, _rb, _rc = sp.Integer(2), sp.Rational(1, 10), sp.Rational(1, 1000)
_first = 1000 * sp.exp(-_ra * t)
_next = 1000 * _ra / (_rb - _ra) * (sp.exp(-_ra * t) - sp.exp(-_rb * t))
_last = (
    1000
    * _ra
    * _rb
    * (
        sp.exp(-_ra * t) / ((_rb - _ra) * (_rc - _ra))
        + sp.exp(-_rb * t) / ((_ra - _rb) * (_rc - _rb))
        + sp.exp(-_rc * t) / ((_ra - _rc) * (_rb - _rc))
    )
)


@textbook(
    "ode",
    "nuclear physics",
    "Krane style",
    tags="system, stiff, different sizes",
    exact={"u": _first, "v": _next, "w": _last},
)
def decay_chain(p: Any) -> Any:
    """Three isotopes with half-lives three orders apart."""
    u, v, w = _u(t), _v(t), _w(t)
    return p.Problem(
        p.Interval(t, 0, 100),
        [u.diff(t) + 2 * u, v.diff(t) - 2 * u + 0.1 * v, w.diff(t) - 0.1 * v + 0.001 * w],
        [p.Initial(u, 1000), p.Initial(v, 0), p.Initial(w, 0)],
    )


def _top() -> References:
    return {
        name: (lambda s, _i=i: scipy.special.ellipj(np.asarray(s, dtype=float), 0.51)[_i])
        for i, name in enumerate("uvw")
    }


_euler = (lambda s, v: (v[1] * v[2], -v[0] * v[2], -0.51 * v[0] * v[1]), (0, 1, 1), 24.0)


@textbook(
    "ode",
    "mechanics",
    "Landau-Lifshitz style",
    tags="nonlinear, system, oscillation",
    unknowns="u v w",
    numeric=_top,
    second=_ivp("u v w", *_euler),
    accuracy=1e-12,
)
def tumbling_body(p: Any) -> Any:
    """A free rigid body; its angular velocities are Jacobi's functions."""
    u, v, w = _u(t), _v(t), _w(t)
    return p.Problem(
        p.Interval(t, 0, 24),
        [sp.Eq(u.diff(t), v * w), sp.Eq(v.diff(t), -u * w), sp.Eq(w.diff(t), -0.51 * u * v)],
        [p.Initial(u, 0), p.Initial(v, 1), p.Initial(w, 1)],
    )


@textbook(
    "ode", "statistics", "Boyce-DiPrima style", tags="smooth, end condition", exact={"u": sp.exp(-(x**2))}
)
def bell_from_left(p: Any) -> Any:
    """A first-order equation with a Dirichlet condition at the left end only."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 4), [u.diff(x) + 2 * x * u], [p.Dirichlet(u, 1, on=sp.Eq(x, 0))])


@textbook(
    "ode",
    "acoustics",
    "Watson style",
    tags="smooth, oscillation, end condition",
    exact={"u": sp.besselj(0, x)},
)
def bessel_outwards(p: Any) -> Any:
    """Bessel's equation from value and slope at the left end."""
    u = _u(x)
    slope = -sp.besselj(1, 1).evalf(20)
    return p.Problem(
        p.Interval(x, 1, 40),
        [x * u.diff(x, 2) + u.diff(x) + x * u],
        [
            p.Dirichlet(u, sp.besselj(0, 1).evalf(20), on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x), slope), on=sp.Eq(x, 1)),
        ],
    )


@textbook(
    "ode",
    "finance",
    "Hull style",
    tags="smooth, end condition, units",
    exact={"u": 100 * sp.exp(-(10 - t) / 25) + 125 * (1 - sp.exp(-(10 - t) / 25))},
)
def bond_price(p: Any) -> Any:
    """A coupon bond valued backwards from its redemption: the condition stands at the right end."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 10), [sp.Eq(u.diff(t), 0.04 * u - 5)], [p.Dirichlet(u, 100, on=sp.Eq(t, 10))]
    )


@textbook(
    "ode",
    "control",
    "Ogata style",
    tags="smooth, third order",
    exact={"u": 1 - 3 * sp.exp(-t) + 3 * sp.exp(-2 * t) - sp.exp(-3 * t)},
)
def step_response(p: Any) -> Any:
    """A third-order plant after a unit step."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 12),
        [sp.Eq(u.diff(t, 3) + 6 * u.diff(t, 2) + 11 * u.diff(t) + 6 * u, 6)],
        [p.Initial(u, 0), p.Initial(u.diff(t), 0), p.Initial(u.diff(t, 2), 0)],
    )


@textbook(
    "ode",
    "heat transfer",
    "Kreyszig style",
    tags="jump",
    interfaces={"t": (1.0,)},
    exact={"u": sp.Piecewise((1 - sp.exp(-t), t < 1), ((sp.E - 1) * sp.exp(-t), True))},
)
def heater_switched(p: Any) -> Any:
    """A heater that is switched off at t = 1."""
    u = _u(t)
    return p.Problem(
        p.Interval(t, 0, 3), [sp.Eq(u.diff(t), -u + sp.Piecewise((1, t < 1), (0, True)))], [p.Initial(u, 0)]
    )


@textbook(
    "ode",
    "optics",
    "Hecht style",
    tags="oscillation",
    exact={"u": sp.sqrt(pi / 2) * sp.fresnelc(sp.sqrt(2 / pi) * t)},
)
def chirp(p: Any) -> Any:
    """An integral of faster and faster oscillations."""
    u = _u(t)
    return p.Problem(p.Interval(t, 0, 12), [sp.Eq(u.diff(t), sp.cos(t**2))], [p.Initial(u, 0)])


# ------------------------------------------------------------------------------------------------------------
# (b) Boundary value problems on a line
# ------------------------------------------------------------------------------------------------------------


def _outflow(s: sp.Symbol, eps: float) -> sp.Expr:
    """-eps u'' + u' = 1, u(0) = u(1) = 0."""
    e = sp.nsimplify(eps)
    return s - (sp.exp((s - 1) / e) - sp.exp(-1 / e)) / (1 - sp.exp(-1 / e))


@textbook("bvp", "fluids", "O'Malley style", tags="layer", exact={"u": _outflow(x, 1e-3)})
def outflow_layer(p: Any) -> Any:
    """Advection with little diffusion."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-3 * u.diff(x, 2) + u.diff(x), 1)], [p.Dirichlet(u, 0)])


@textbook(
    "bvp",
    "fluids",
    "Roos-Stynes-Tobiska style",
    tags="layer",
    exact={"u": _outflow(x, 1e-5)},
    tol=1e-7,
    accuracy=1e-11,
)
def outflow_layer_thin(p: Any) -> Any:
    """The same with a layer a hundred thousandth wide."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-5 * u.diff(x, 2) + u.diff(x), 1)], [p.Dirichlet(u, 0)])


_thin = sp.sqrt(sp.Integer(10) ** 5)


@textbook(
    "bvp",
    "chemistry",
    "Bender-Orszag style",
    tags="layer",
    exact={
        "u": 1
        + x
        - (sp.exp(-_thin * x) * (1 - 2 * sp.exp(-_thin)) + sp.exp(-_thin * (1 - x)) * (2 - sp.exp(-_thin)))
        / (1 - sp.exp(-2 * _thin))
    },
)
def twin_layers(p: Any) -> Any:
    """Reaction against weak diffusion, a layer at either end."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-1e-5 * u.diff(x, 2) + u, 1 + x)], [p.Dirichlet(u, 0)])


_eps = sp.Rational(1, 10000)


@textbook(
    "bvp",
    "numerical analysis",
    "Ascher-Mattheij-Russell style",
    tags="layer, turning point",
    exact={"u": sp.cos(pi * x) + sp.erf(x / sp.sqrt(2 * _eps)) / sp.erf(1 / sp.sqrt(2 * _eps))},
)
def turning_point(p: Any) -> Any:
    """A shock-like layer where the velocity changes sign."""
    u = _u(x)
    right = -_eps * pi**2 * sp.cos(pi * x) - pi * x * sp.sin(pi * x)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(_eps * u.diff(x, 2) + x * u.diff(x), right)],
        [p.Dirichlet(u, -2, on=sp.Eq(x, -1)), p.Dirichlet(u, 0, on=sp.Eq(x, 1))],
    )


@textbook(
    "bvp",
    "quantum mechanics",
    "Griffiths style",
    tags="turning point, oscillation",
    exact={"u": sp.airyai(x * sp.Rational(10000) ** sp.Rational(1, 3))},
)
def wkb_turning_point(p: Any) -> Any:
    """Oscillating on the left, dying on the right."""
    u, big = _u(x), 10000 ** (1 / 3)
    return p.Problem(
        p.Interval(x, -1, 1),
        [1e-4 * u.diff(x, 2) - x * u],
        [
            p.Dirichlet(u, float(scipy.special.airy(-big)[0]), on=sp.Eq(x, -1)),
            p.Dirichlet(u, float(scipy.special.airy(big)[0]), on=sp.Eq(x, 1)),
        ],
    )


def _bratu(lam: float, start: float) -> sp.Expr:
    """Bratu's solution by its root theta = sqrt(2 lam) cosh(theta/4), the one near the start."""
    theta = _found(lambda s: s - mpmath.sqrt(2 * lam) * mpmath.cosh(s / 4), start)
    return -2 * sp.log(sp.cosh((x - sp.Rational(1, 2)) * theta / 2) / sp.cosh(theta / 4))


@textbook(
    "bvp",
    "combustion",
    "Ascher-Petzold style",
    tags="nonlinear, smooth, two solutions",
    exact={"u": _bratu(1.0, 1.5)},
    also=({"u": _bratu(1.0, 11.0)},),
)
def bratu(p: Any) -> Any:
    """Thermal ignition; the second, hot solution is accepted too."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [u.diff(x, 2) + sp.exp(u)], [p.Dirichlet(u, 0)])


_troesch = (
    lambda s, v: (v[1], 5 * np.sinh(5 * v[0])),
    lambda a, b: (a[0], b[0] - 1),
    (0, 0.5, 0.75, 0.88, 0.94, 0.97, 1.0),
    lambda s: (s**4, 4 * s**3),
)


@textbook(
    "bvp",
    "plasma physics",
    "Troesch's problem",
    tags="nonlinear, layer",
    numeric=_bvp("u", *_troesch),
    second=_bvp("u", *_troesch, 1e-11),
    accuracy=1e-11,
    patch=5e-3,
)
def troesch(p: Any) -> Any:
    """A confined plasma column."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), 5 * sp.sinh(5 * u))],
        [p.Dirichlet(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


_plate = (
    lambda s, v: (v[1], v[2], -0.5 * v[0] * v[2]),
    lambda a, b: (a[0], a[1], b[1] - 1),
    (0, 2.5, 5, 7.5, 10),
    lambda s: (s - 1 + np.exp(-s), 1 - np.exp(-s), np.exp(-s)),
)


@textbook(
    "bvp",
    "fluids",
    "Schlichting style",
    tags="nonlinear, third order",
    numeric=_bvp("u", *_plate),
    second=_bvp("u", *_plate, 1e-11),
    accuracy=1e-11,
    patch=0.05,
)
def blasius_plate(p: Any) -> Any:
    """The flow along a plate with the outer speed given."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 10),
        [u.diff(x, 3) + u * u.diff(x, 2) / 2],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 0), on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 1), on=sp.Eq(x, 10)),
        ],
    )


_film = (
    lambda s, v: (v[1], v[2], (v[0] - 1) / v[0] ** 3),
    lambda a, b: (a[0] - 1.5, a[1], b[0] - 1),
    (0, 1.25, 2.5, 3.75, 5),
    lambda s: (1 + 0.5 * np.exp(-s * s), -s * np.exp(-s * s), -np.exp(-s * s)),
)


@textbook(
    "bvp",
    "fluids",
    "Bretherton style",
    tags="nonlinear, third order",
    numeric=_bvp("u", *_film),
    second=_bvp("u", *_film, 1e-11),
    accuracy=1e-11,
    patch=0.05,
)
def thin_film(p: Any) -> Any:
    """The profile of a thin film drawn out of a bath: h''' = (h - 1)/h^3."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 5),
        [u**3 * u.diff(x, 3) - (u - 1)],
        [
            p.Dirichlet(u, 1.5, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 1, on=sp.Eq(x, 5)),
        ],
    )


_split = sp.Rational(3, 10)
_flux = 100 / (_split + (1 - _split) / 50)


@textbook(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="jump, offset, units, flux",
    interfaces={"x": (0.3,)},
    exact={
        "u": sp.Rational(39315, 100)
        - sp.Piecewise((_flux * x, x < _split), (_flux * (_split + (x - _split) / 50), True))
    },
)
def layered_wall(p: Any) -> Any:
    """Brick and steel between 393.15 K and 293.15 K."""
    u = _u(x)
    k = sp.Piecewise((1, x < _split), (50, True))
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(sp.Derivative(k * u.diff(x), x), 0)],
        [p.Dirichlet(u, 393.15, on=sp.Eq(x, 0)), p.Dirichlet(u, 293.15, on=sp.Eq(x, 1))],
    )


def _heated_layers() -> sp.Expr:
    """(k u')' = -10 with k = 1, 20, 3 on thirds of [0, 3], u = 0 at both ends: k u' = c - 10 x."""
    c, parts, start = sp.Symbol("c"), [], sp.Integer(0)
    for a, k in ((0, 1), (1, 20), (2, 3)):
        parts.append((start + (c * (x - a) - 5 * (x**2 - a**2)) / k, a + 1))
        start = parts[-1][0].subs(x, a + 1)
    value = sp.solve(start, c)[0]
    return sp.Piecewise(
        *((e.subs(c, value), x < b) for e, b in parts[:-1]), (parts[-1][0].subs(c, value), True)
    )


@textbook(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="jump, flux",
    interfaces={"x": (1.0, 2.0)},
    exact={"u": _heated_layers()},
)
def heated_layers(p: Any) -> Any:
    """Three layers heated evenly, written with div and grad."""
    u = _u(x)
    k = sp.Piecewise((1, x < 1), (20, x < 2), (3, True))
    return p.Problem(p.Interval(x, 0, 3), [sp.Eq(p.div(k * p.grad(u)), -10)], [p.Dirichlet(u, 0)])


def _jump_defect(expression: sp.Expr, at: sp.Expr, order: int, wanted: float) -> float:
    """How far the jump of a derivative differs from the wanted one, all lower ones being continuous."""
    left, right = expression.args[0][0], expression.args[1][0]
    defects = [
        abs(float((right - left).diff(x, k).subs(x, at)) - (wanted if k == order else 0))
        for k in range(order + 1)
    ]
    return max(defects) / max(abs(wanted), 1e-300)


_string = sp.Piecewise((sp.Rational(7, 10) * x, x < _split), (_split * (1 - x), True))


@textbook(
    "bvp",
    "mechanics",
    "Stakgold style",
    tags="jump, point load",
    exact={"u": _string},
    interfaces={"x": (0.3,)},
    extra=lambda: _jump_defect(_string, _split, 1, -1.0),
)
def loaded_string(p: Any) -> Any:
    """A string with one weight on it."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(-u.diff(x, 2), sp.DiracDelta(x - _split))], [p.Dirichlet(u, 0)]
    )


_l, _at = sp.Integer(1), sp.Rational(1, 3)
_beam = sp.Piecewise(
    ((1 - _at) * x * (1 - (1 - _at) ** 2 - x**2) / 6, x < _at),
    (_at * (1 - x) * (1 - _at**2 - (1 - x) ** 2) / 6, True),
)


@textbook(
    "bvp",
    "elasticity",
    "Timoshenko style",
    tags="jump, point load, fourth order",
    exact={"u": _beam},
    interfaces={"x": (1 / 3,)},
    extra=lambda: _jump_defect(_beam, _at, 3, 1.0),
)
def loaded_beam(p: Any) -> Any:
    """A simply supported beam with a weight at a third."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 4), sp.DiracDelta(x - _at))],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 1)),
        ],
    )


_stiffness = sp.Integer(1750000)


@textbook(
    "bvp",
    "elasticity",
    "Gere style",
    tags="smooth, fourth order, units",
    exact={"u": sp.Integer(5000) * x**2 * (x**2 - 12 * x + 54) / (24 * _stiffness)},
)
def cantilever(p: Any) -> Any:
    """Three metres of steel under 5 kN/m, deflection in metres."""
    u, end = _u(x), sp.Eq(x, 3)
    return p.Problem(
        p.Interval(x, 0, 3),
        [sp.Eq(_stiffness * u.diff(x, 4), 5000)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Neumann(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=end),
            p.Condition(sp.Eq(u.diff(x, 3), 0), on=end),
        ],
    )


@textbook(
    "bvp", "acoustics", "Kinsler style", tags="oscillation", exact={"u": sp.sin(100 * (1 - x)) / sp.sin(100)}
)
def organ_pipe(p: Any) -> Any:
    """Sixteen wavelengths in a pipe."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [u.diff(x, 2) + 10000 * u],
        [p.Dirichlet(u, 1, on=sp.Eq(x, 0)), p.Dirichlet(u, 0, on=sp.Eq(x, 1))],
    )


_kappa2 = pi**2 + sp.Rational(1, 1000)
_kappa = sp.sqrt(_kappa2)


@textbook(
    "bvp",
    "acoustics",
    "Morse-Ingard style",
    tags="near resonance",
    exact={
        "u": x * (1 - x) / _kappa2
        + 2
        / _kappa2**2
        * (1 - sp.cos(_kappa * x) - (1 - sp.cos(_kappa)) / sp.sin(_kappa) * sp.sin(_kappa * x))
    },
    accuracy=1e-12,
)
def near_resonance(p: Any) -> Any:
    """A string driven just beside its lowest tone."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + _kappa2 * u, x * (1 - x))], [p.Dirichlet(u, 0)]
    )


_offset = (
    lambda s, v: (v[1], np.sinh(v[0])),
    lambda a, b: (a[0], b[0] - 2),
    (0, 0.5, 1.0),
    lambda s: (2 * s, 2 + 0 * s),
)


def _lifted(make: Lazy, offset: float) -> Lazy:
    """The same references with a constant added."""
    return lambda: {n: (lambda *c, _f=f: _f(*c) + offset) for n, f in make().items()}


@textbook(
    "bvp",
    "chemistry",
    "Fogler style",
    tags="nonlinear, offset, units",
    numeric=_lifted(_bvp("u", *_offset), 300),
    second=_lifted(_bvp("u", *_offset, 1e-10), 300),
    accuracy=1e-14,
    tol=1e-10,
    patch=0.08,
    residual_tol=1e-5,
)
def warm_offset(p: Any) -> Any:
    """Small differences on top of 300 kelvin decide everything."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), sp.sinh(u - 300))],
        [p.Dirichlet(u, 300, on=sp.Eq(x, 0)), p.Dirichlet(u, 302, on=sp.Eq(x, 1))],
    )


_debye = (
    lambda s, v: (v[1], 100 * np.sinh(v[0])),
    lambda a, b: (a[0] - 0.1 / 0.02585, b[0]),
    (0, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0),
    lambda s: (3.868 * np.exp(-12 * s), -46 * np.exp(-12 * s)),
)


def _volts(make: Lazy) -> Lazy:
    """The dimensionless potential over the unit interval, in volts over a micrometre."""
    kept = cache(make)
    return lambda: {"u": lambda s: 0.02585 * kept()["u"](np.asarray(s) * 1e6)}


@textbook(
    "bvp",
    "semiconductors",
    "Sze style",
    tags="nonlinear, layer, units",
    numeric=_volts(_bvp("u", *_debye)),
    second=_volts(_bvp("u", *_debye, 1e-11)),
    accuracy=1e-11,
    patch=5e-3,
)
def debye_layer(p: Any) -> Any:
    """The potential (volts) over one micrometre (in metres), the Debye length being a tenth."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1e-6),
        [sp.Eq(u.diff(x, 2), 0.02585 / (1e-7) ** 2 * sp.sinh(u / 0.02585))],
        [p.Dirichlet(u, 0.1, on=sp.Eq(x, 0)), p.Dirichlet(u, 0, on=sp.Eq(x, 1e-6))],
    )


_alpha = sp.Rational(12, 10**6)
_heat = 293 + 100 * x + 25 * x * (1 - x)


@textbook(
    "bvp",
    "elasticity",
    "Boley-Weiner style",
    tags="system, different sizes, offset, units",
    exact={
        "u": _heat,
        "v": sp.expand(_alpha * (sp.integrate(_heat, (x, 0, x)) - x * sp.integrate(_heat, (x, 0, 1)))),
    },
)
def heated_bar(p: Any) -> Any:
    """Temperature (kelvin) and displacement (metres) of a clamped bar."""
    u, v = _u(x), _v(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), -50), sp.Eq(v.diff(x, 2), 1.2e-5 * u.diff(x))],
        [p.Dirichlet(u, 293, on=sp.Eq(x, 0)), p.Dirichlet(u, 393, on=sp.Eq(x, 1)), p.Dirichlet(v, 0)],
    )


_pellet = (
    lambda s, v: (v[1], 100 * v[0] ** 2),
    lambda a, b: (a[1], b[0] - 1),
    (0, 0.4, 0.7, 0.9, 1.0),
    lambda s: (0.02 + 0.98 * np.exp(-8 * (1 - s)), 8 * np.exp(-8 * (1 - s))),
)


@textbook(
    "bvp",
    "chemistry",
    "Aris style",
    tags="nonlinear, layer",
    numeric=_bvp("u", *_pellet),
    second=_bvp("u", *_pellet, 1e-11),
    accuracy=1e-11,
)
def catalyst_pellet(p: Any) -> Any:
    """A second-order reaction with Thiele modulus ten."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), 100 * u**2)],
        [p.Neumann(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


@textbook(
    "bvp", "materials", "Cahn style", tags="nonlinear, layer", exact={"u": sp.tanh(x * 5 / (2 * sp.sqrt(2)))}
)
def phase_wall(p: Any) -> Any:
    """The wall between two phases."""
    u = _u(x)
    edge = sp.tanh(5 / (2 * sp.sqrt(2)))
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(sp.Rational(4, 25) * u.diff(x, 2), u**3 - u)],
        [p.Dirichlet(u, -edge, on=sp.Eq(x, -1)), p.Dirichlet(u, edge, on=sp.Eq(x, 1))],
    )


@textbook("bvp", "fluids", "Whitham style", tags="nonlinear, layer", exact={"u": -sp.tanh(5 * x)})
def standing_shock(p: Any) -> Any:
    """The steady Burgers equation."""
    u = _u(x)
    edge = sp.tanh(5)
    return p.Problem(
        p.Interval(x, -1, 1),
        [sp.Eq(sp.Rational(1, 10) * u.diff(x, 2), u * u.diff(x))],
        [p.Dirichlet(u, edge, on=sp.Eq(x, -1)), p.Dirichlet(u, -edge, on=sp.Eq(x, 1))],
    )


def _ring_potential(modes: int) -> References:
    """-u'' + (2 + cos x) u = exp(sin x), periodic, by Fourier collocation on 2*modes + 1 points."""
    m = 2 * modes + 1
    s = 2 * np.pi * np.arange(m) / m
    k = np.arange(-modes, modes + 1)
    shapes = np.exp(1j * np.outer(s, k))
    matrix = shapes * (k**2)[None, :] + (2 + np.cos(s))[:, None] * shapes
    found = np.linalg.solve(matrix, np.exp(np.sin(s)).astype(complex))
    return {"u": lambda q: np.reshape(np.real(np.exp(1j * np.outer(np.ravel(q), k)) @ found), np.shape(q))}


@textbook(
    "bvp",
    "quantum mechanics",
    "Kittel style",
    tags="smooth, periodic",
    numeric=lambda: _ring_potential(32),
    second=lambda: _ring_potential(24),
    accuracy=1e-13,
)
def ring_potential(p: Any) -> Any:
    """A particle on a ring with a periodic potential and a source."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 2 * pi),
        [sp.Eq(-u.diff(x, 2) + (2 + sp.cos(x)) * u, sp.exp(sp.sin(x)))],
        [p.Periodic(u, x)],
    )


_m, _h = sp.Integer(20), sp.Rational(1, 10)
_fin = sp.cosh(_m * (_h - x)) + sp.Rational(3, 10) * sp.sinh(_m * (_h - x))


@textbook(
    "bvp",
    "heat transfer",
    "Incropera style",
    tags="smooth, offset, units, robin",
    exact={"u": sp.Rational(29315, 100) + 80 * _fin / _fin.subs(x, 0)},
)
def cooling_fin(p: Any) -> Any:
    """A fin of ten centimetres with a convecting tip: 6 (T - Ta) + dT/dn = 0."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, _h),
        [sp.Eq(u.diff(x, 2), 400 * (u - 293.15))],
        [p.Dirichlet(u, 373.15, on=sp.Eq(x, 0)), p.Robin(u, 6 * 293.15, alpha=6, beta=1, on=sp.Eq(x, _h))],
    )


@textbook(
    "bvp",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="layer, smooth",
    exact={"u": (1 - r**2) / 4 - (1 - sp.Rational(1, 10000)) / 4 * sp.log(r) / sp.log(sp.Rational(1, 100))},
)
def hot_annulus(p: Any) -> Any:
    """Radial conduction around a thin wire: steep near the wire."""
    u = _u(r)
    return p.Problem(p.Interval(r, 0.01, 1), [sp.Eq(u.diff(r, 2) + u.diff(r) / r, -1)], [p.Dirichlet(u, 0)])


_sy = sp.Rational(2, 5)
_cable = sp.Piecewise(
    (5 * sp.cosh(5 * x) * sp.cosh(5 * (1 - _sy)) / sp.sinh(5), x < _sy),
    (5 * sp.cosh(5 * _sy) * sp.cosh(5 * (1 - x)) / sp.sinh(5), True),
)


@textbook(
    "bvp",
    "biology",
    "Koch style",
    tags="point load, jump",
    exact={"u": _cable},
    interfaces={"x": (0.4,)},
    extra=lambda: _jump_defect(_cable, _sy, 1, -25.0),
)
def dendrite(p: Any) -> Any:
    """A passive nerve cable with one synapse and sealed ends."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [sp.Eq(sp.Rational(1, 25) * u.diff(x, 2) - u, -sp.DiracDelta(x - _sy))],
        [p.Neumann(u, 0)],
    )


# ------------------------------------------------------------------------------------------------------------
# (c) Elliptic problems in boxes
# ------------------------------------------------------------------------------------------------------------

_SQUARE = {x: (0, 1), y: (0, 1)}


def _laplace(e: Any, *coordinates: sp.Symbol) -> sp.Expr:
    """The sum of second derivatives (by x and y if nothing else is said)."""
    return sp.Add(*(e.diff(c, 2) for c in coordinates or (x, y)))


def _torsion(xs: Array, ys: Array, terms: int = 3000) -> Array:
    """-Laplace u = 1 on the unit square with u = 0 around, by its series in the better direction."""
    xs, ys = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ys, dtype=float))
    swap = np.abs(xs - 0.5) < np.abs(ys - 0.5)
    a, b = np.where(swap, ys, xs), np.where(swap, xs, ys)
    n = 2.0 * np.arange(terms) + 1

    def term(k: Array, p: Array, q: Array) -> Array:
        ratio = (np.exp(-k * np.pi * q) + np.exp(-k * np.pi * (1 - q))) / (1 + np.exp(-k * np.pi))
        found: Array = 4 / (np.pi * k) ** 3 * np.sin(k * np.pi * p) * ratio
        return found

    result: Array = a * (1 - a) / 2 - _summed(term, n, a, b)
    return result


@textbook(
    "elliptic",
    "elasticity",
    "Timoshenko-Goodier style",
    tags="2d, corner",
    numeric=lambda: {"u": _torsion},
    second=lambda: _heating(2),
    accuracy=1e-10,
    tol=1e-6,
)
def torsion(p: Any) -> Any:
    """Prandtl's stress function of a square bar."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [sp.Eq(-_laplace(u), 1)], [p.Dirichlet(u, 0)])


def _cube(xs: Array, ys: Array, zs: Array, terms: int = 60) -> Array:
    """-Laplace u = 1 in the unit cube: the square's solution less what the two ends take away."""
    stack = np.stack(np.broadcast_arrays(*(np.asarray(c, dtype=float) for c in (xs, ys, zs))))
    order = np.argsort(-np.abs(stack - 0.5), axis=0)
    a, b, c = np.take_along_axis(stack, order, axis=0)
    shape = a.shape
    a, b, c = a.ravel(), b.ravel(), c.ravel()
    k = 2.0 * np.arange(terms) + 1
    gamma = np.pi * np.sqrt(k[:, None] ** 2 + k[None, :] ** 2)
    weight = 16 / (np.pi**2 * k[:, None] * k[None, :]) / gamma**2
    result = _torsion(a, b, 400)
    for start in range(0, a.size, 100):
        part = slice(start, start + 100)
        ends = np.exp(-gamma * c[part, None, None]) + np.exp(-gamma * (1 - c[part, None, None]))
        ends /= 1 + np.exp(-gamma)
        left, right = (np.sin(np.pi * np.outer(q[part], k)) for q in (a, b))
        result[part] -= np.einsum("pm,pn,pmn->p", left, right, weight * ends, optimize=True)
    return result.reshape(shape)


def _heating(dimension: int) -> References:
    """The same as one integral over time: u = int_0^inf prod_i theta(x_i, s) ds with theta the quenched rod."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.concatenate([[0.0], np.geomspace(1e-14, 0.15, 44), np.linspace(0.15, 2.5, 8)[1:]])
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in zip(edges, edges[1:], strict=False)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in zip(edges, edges[1:], strict=False)])

    def evaluate(*coordinates: Array) -> Array:
        product = np.ones((1, len(s)))
        for c in np.broadcast_arrays(*coordinates)[:dimension]:
            product = product * _cooled(np.ravel(c)[:, None], s[None, :])
        return np.reshape(product @ w, np.shape(coordinates[0]))

    return {"u": evaluate}


def _cooled(xs: Array, ts: Array) -> Array:
    """u_t = u_xx on [0, 1], u = 1 at the beginning and 0 at both ends: images early, modes late."""
    xs, ts = np.broadcast_arrays(np.asarray(xs, dtype=float), np.asarray(ts, dtype=float))
    root = np.sqrt(4 * np.maximum(ts, 1e-300))
    early = np.ones(xs.shape)
    for k in range(6):
        early -= (-1) ** k * (scipy.special.erfc((k + xs) / root) + scipy.special.erfc((k + 1 - xs) / root))
    late = np.zeros(xs.shape)
    for k in range(1, 16, 2):
        late += 4 / (np.pi * k) * np.sin(k * np.pi * xs) * np.exp(-((k * np.pi) ** 2) * ts)
    return np.where(ts < 0.15, early, late)


@textbook(
    "elliptic",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="3d, corner",
    numeric=lambda: {"u": _cube},
    second=lambda: _heating(3),
    accuracy=1e-8,
    tol=1e-4,
    patch=0.04,
    residual_tol=1e-4,
)
def heated_cube(p: Any) -> Any:
    """A cube heated evenly with cold faces."""
    u = _u(x, y, z)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}), [sp.Eq(-_laplace(u, x, y, z), 1)], [p.Dirichlet(u, 0)]
    )


_peak = sp.exp(-200 * ((x - _split) ** 2 + (y - sp.Rational(3, 5)) ** 2))


@textbook("elliptic", "electrostatics", "Mitchell style", tags="2d, peak", exact={"u": _peak})
def sharp_peak(p: Any) -> Any:
    """A narrow charge distribution."""
    u = _u(x, y)
    return p.Problem(
        p.Box(_SQUARE), [sp.Eq(_laplace(u), sp.simplify(_laplace(_peak)))], [p.Dirichlet(u, _peak)]
    )


_plane = sp.cos(20 * (sp.Rational(3, 5) * x + sp.Rational(4, 5) * y))


@textbook("elliptic", "acoustics", "Pierce style", tags="2d, oscillation", exact={"u": _plane})
def plane_wave(p: Any) -> Any:
    """A plane wave through a room, three wavelengths wide."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [_laplace(u) + 400 * u], [p.Dirichlet(u, _plane)])


_modes = sp.sin(6 * pi * x) * sp.sin(5 * pi * y) + x * y


@textbook("elliptic", "acoustics", "Haberman style", tags="2d, oscillation", exact={"u": _modes})
def membrane_driven(p: Any) -> Any:
    """A driven membrane with several wavelengths."""
    u = _u(x, y)
    return p.Problem(
        p.Box(_SQUARE),
        [sp.Eq(_laplace(u) + 150 * u, sp.expand(_laplace(_modes) + 150 * _modes))],
        [p.Dirichlet(u, x * y)],
    )


_mixed = sp.exp(2 * x) * sp.cos(2 * y)


@textbook("elliptic", "heat transfer", "Haberman style", tags="2d, smooth, mixed, robin", exact={"u": _mixed})
def mixed_plate(p: Any) -> Any:
    """Given value, flux and exchange on different sides."""
    u = _u(x, y)
    return p.Problem(
        p.Box(_SQUARE),
        [_laplace(u)],
        [
            p.Dirichlet(u, sp.cos(2 * y), on=sp.Eq(x, 0)),
            p.Robin(u, 5 * sp.exp(2) * sp.cos(2 * y), alpha=3, beta=1, on=sp.Eq(x, 1)),
            p.Neumann(u, 0, on=sp.Eq(y, 0)),
            p.Neumann(u, -2 * sp.sin(2) * sp.exp(2 * x), on=sp.Eq(y, 1)),
        ],
    )


_crack = sp.sqrt((sp.sqrt(x**2 + y**2) + x) / 2)


def _crack_tip(xs: Array, ys: Array) -> Array:
    """r^(1/2) cos(theta/2), without cancellation."""
    return np.sqrt(np.hypot(xs, ys)) * np.cos(np.arctan2(ys, xs) / 2)


@textbook(
    "elliptic",
    "fracture",
    "Motz style",
    tags="2d, corner, mixed",
    numeric=lambda: {"u": _crack_tip},
    tol=1e-5,
    second=lambda: {"u": lambda a, b: np.real(np.sqrt(np.asarray(a) + 1j * np.asarray(b)))},
    accuracy=1e-15,
)
def crack_tip(p: Any) -> Any:
    """Along y = 0 the condition changes from value to flux: the square root at the tip."""
    u = _u(x, y)
    return p.Problem(
        p.Box({x: (-1, 1), y: (0, 1)}),
        [_laplace(u)],
        [
            p.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x < 0)),
            p.Neumann(u, 0, on=sp.And(sp.Eq(y, 0), x > 0)),
            p.Dirichlet(u, _crack, on=sp.Eq(x, -1)),
            p.Dirichlet(u, _crack, on=sp.Eq(x, 1)),
            p.Dirichlet(u, _crack, on=sp.Eq(y, 1)),
        ],
    )


_sheet = sp.sin(pi * x) * (1 + (y / sp.Rational(1, 100)) ** 2)


@textbook(
    "elliptic", "heat transfer", "Oezisik style", tags="2d, smooth, thin box, mixed", exact={"u": _sheet}
)
def thin_sheet(p: Any) -> Any:
    """A sheet a hundred times as long as thick."""
    u = _u(x, y)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 0.01)}),
        [sp.Eq(_laplace(u), sp.expand(_laplace(_sheet)))],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))),
            p.Neumann(u, 0, on=sp.Eq(y, 0)),
            p.Dirichlet(u, 2 * sp.sin(pi * x), on=sp.Eq(y, 0.01)),
        ],
    )


_chip = sp.Rational(2, 10**6)
_trap = sp.Rational(1, 2) * sp.sin(pi * x / _chip) * sp.sin(2 * pi * y / _chip)


@textbook("elliptic", "semiconductors", "Jackson style", tags="2d, smooth, units", exact={"u": _trap})
def charge_trap(p: Any) -> Any:
    """A potential (volts) in a square of two micrometres (in metres)."""
    u = _u(x, y)
    return p.Problem(
        p.Box({x: (0, _chip), y: (0, _chip)}),
        [sp.Eq(_laplace(u), -5 * pi**2 / _chip**2 * _trap)],
        [p.Dirichlet(u, 0)],
    )


_decay = sp.cos(x) * sp.exp(-y * sp.sqrt(1000))


@textbook(
    "elliptic", "geophysics", "Haberman style", tags="2d, layer, anisotropic", exact={"u": _decay}, tol=1e-7
)
def anisotropic_ground(p: Any) -> Any:
    """Conduction a thousand times stronger along x than along y."""
    u = _u(x, y)
    return p.Problem(
        p.Box(_SQUARE), [u.diff(x, 2) + sp.Rational(1, 1000) * u.diff(y, 2)], [p.Dirichlet(u, _decay)]
    )


_half = sp.Rational(1, 2)
_lower = sp.sinh(pi * y)
_upper = sp.cosh(pi / 2) / 10 * sp.sinh(pi * (y - _half)) + sp.sinh(pi / 2) * sp.cosh(pi * (y - _half))
_wall = sp.sin(pi * x) * sp.Piecewise((_lower, y < _half), (_upper, True))


@textbook(
    "elliptic",
    "heat transfer",
    "Incropera style",
    tags="2d, jump, flux",
    exact={"u": _wall},
    interfaces={"y": (0.5,)},
)
def layered_plate(p: Any) -> Any:
    """A plate of two materials in perfect contact."""
    u = _u(x, y)
    k = sp.Piecewise((1, y < _half), (10, True))
    return p.Problem(
        p.Box(_SQUARE),
        [sp.Eq(p.div(k * p.grad(u)), 0)],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0))),
            p.Dirichlet(u, sp.sin(pi * x) * _upper.subs(y, 1), on=sp.Eq(y, 1)),
        ],
    )


_wind = _outflow(x, 0.05) * _outflow(y, 0.05)


@textbook(
    "elliptic", "environment", "Roos-Stynes-Tobiska style", tags="2d, layer", exact={"u": _wind}, tol=1e-6
)
def smoke_in_wind(p: Any) -> Any:
    """Advection and diffusion with layers at two sides."""
    u = _u(x, y)
    flow = -sp.Rational(1, 20) * _laplace(u) + u.diff(x) + u.diff(y)
    return p.Problem(
        p.Box(_SQUARE), [sp.Eq(flow, sp.simplify(_outflow(x, 0.05) + _outflow(y, 0.05)))], [p.Dirichlet(u, 0)]
    )


_liouville = sp.log(8 / (1 + x**2 + y**2) ** 2)


def _flatter_cap(n: int = 36) -> References:
    """The smaller solution with the same values on the sides, by collocation on (-1, 1)²: Newton from below.

    The sphere's own cap reaches beyond its equator here, where another, flatter one has the same rim.
    """
    nodes, slope = _chebyshev(n)
    bend, one = slope @ slope, np.eye(n + 1)
    laplacian = np.kron(bend, one) + np.kron(one, bend)
    X, Y = (a.ravel() for a in np.meshgrid(nodes, nodes, indexing="ij"))
    rim = (np.abs(X) == 1.0) | (np.abs(Y) == 1.0)
    given = np.log(8.0 / (1.0 + X**2 + Y**2) ** 2)
    laplacian[rim] = np.eye((n + 1) ** 2)[rim]
    u = np.linalg.solve(laplacian, np.where(rim, given, 0.0))
    for _ in range(30):
        left = np.where(rim, u - given, laplacian @ u + np.exp(u))
        step = np.linalg.solve(laplacian + np.diag(np.where(rim, 0.0, np.exp(u))), left)
        u = u - step
        if np.abs(step).max() < 1e-13:
            break
    to = _coefficients(n)
    series = to @ u.reshape(n + 1, n + 1) @ to.T

    def values(first: Array, second: Array) -> Array:
        return np.asarray(np.polynomial.chebyshev.chebval2d(first, second, series))

    return {"u": values}


@textbook(
    "elliptic",
    "geometry",
    "Evans style",
    tags="2d, nonlinear, smooth, two solutions",
    exact={"u": _liouville},
    also=(_flatter_cap,),
)
def liouville(p: Any) -> Any:
    """Constant curvature on a square around the pole."""
    u = _u(x, y)
    return p.Problem(p.Box({x: (-1, 1), y: (-1, 1)}), [_laplace(u) + sp.exp(u)], [p.Dirichlet(u, _liouville)])


_ions = 4 * sp.atanh(sp.exp(-(sp.Rational(3, 5) * x + sp.Rational(4, 5) * y) * 2 - _half))


@textbook("elliptic", "chemistry", "Israelachvili style", tags="2d, nonlinear", exact={"u": _ions})
def ion_cloud(p: Any) -> Any:
    """The Poisson-Boltzmann equation near a charged oblique wall."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [sp.Eq(_laplace(u), 4 * sp.sinh(u))], [p.Dirichlet(u, _ions)])


_scherk = sp.log(sp.cos(y) / sp.cos(x))


@textbook("elliptic", "geometry", "Courant style", tags="2d, nonlinear, smooth", exact={"u": _scherk})
def soap_film(p: Any) -> Any:
    """Scherk's minimal surface."""
    u = _u(x, y)
    minimal = (
        (1 + u.diff(y) ** 2) * u.diff(x, 2)
        - 2 * u.diff(x) * u.diff(y) * u.diff(x, y)
        + (1 + u.diff(x) ** 2) * u.diff(y, 2)
    )
    return p.Problem(p.Box({x: (-1, 1), y: (-1, 1)}), [minimal], [p.Dirichlet(u, _scherk)])


_stream = (x * (1 - x) * y * (1 - y)) ** 2 * 64
_su, _sv, _sp = _stream.diff(y), -_stream.diff(x), sp.cos(pi * x) * sp.sin(pi * y)


@textbook(
    "elliptic",
    "fluids",
    "Batchelor style",
    tags="2d, system, smooth, point value",
    exact={"u": _su, "v": _sv, "w": _sp},
)
def stokes_cavity(p: Any) -> Any:
    """Slow flow in a closed box; w is the pressure, fixed at one corner."""
    u, v, w = _u(x, y), _v(x, y), _w(x, y)
    return p.Problem(
        p.Box(_SQUARE),
        [
            sp.Eq(-_laplace(u) + w.diff(x), sp.expand(-_laplace(_su) + _sp.diff(x))),
            sp.Eq(-_laplace(v) + w.diff(y), sp.expand(-_laplace(_sv) + _sp.diff(y))),
            sp.Eq(u.diff(x) + v.diff(y), 0),
        ],
        [p.Dirichlet(u, 0), p.Dirichlet(v, 0), p.Dirichlet(w, 0, on={x: 0, y: 0})],
    )


_re = sp.Integer(20)
_lam = _re / 2 - sp.sqrt(_re**2 / 4 + 4 * pi**2)
_kov = (
    1 - sp.exp(_lam * x) * sp.cos(2 * pi * y),
    _lam / (2 * pi) * sp.exp(_lam * x) * sp.sin(2 * pi * y),
    (1 - sp.exp(2 * _lam * x)) / 2,
)


@textbook(
    "elliptic",
    "fluids",
    "Kovasznay style",
    tags="2d, system, nonlinear, point value",
    exact=dict(zip("uvw", _kov, strict=True)),
    tol=1e-6,
)
def behind_grid(p: Any) -> Any:
    """Steady Navier-Stokes flow behind a grid at Reynolds number 20."""
    u, v, w = _u(x, y), _v(x, y), _w(x, y)
    return p.Problem(
        p.Box({x: (-0.5, 1), y: (-0.5, 0.5)}),
        [
            u * u.diff(x) + v * u.diff(y) + w.diff(x) - _laplace(u) / _re,
            u * v.diff(x) + v * v.diff(y) + w.diff(y) - _laplace(v) / _re,
            u.diff(x) + v.diff(y),
        ],
        [p.Dirichlet(u, _kov[0]), p.Dirichlet(v, _kov[1]), p.Dirichlet(w, 0, on={x: 0, y: 0})],
    )


_bend = (sp.Rational(1, 1000) * sp.sin(pi * x) * sp.exp(y), sp.Rational(1, 1000) * x**2 * sp.cos(y))


def _navier(u: Any, v: Any) -> tuple[sp.Expr, sp.Expr]:
    """Navier's operator with the Lame constants 3 and 1."""
    spread = u.diff(x) + v.diff(y)
    return _laplace(u) + 4 * spread.diff(x), _laplace(v) + 4 * spread.diff(y)


@textbook(
    "elliptic",
    "elasticity",
    "Sadd style",
    tags="2d, system, smooth, units",
    exact={"u": _bend[0], "v": _bend[1]},
)
def strained_block(p: Any) -> Any:
    """Displacements (metres) of a block, a millimetre large."""
    u, v = _u(x, y), _v(x, y)
    return p.Problem(
        p.Box(_SQUARE),
        [sp.Eq(a, sp.expand(b)) for a, b in zip(_navier(u, v), _navier(*_bend), strict=True)],
        [p.Dirichlet(u, _bend[0]), p.Dirichlet(v, _bend[1])],
    )


_free = sp.cos(pi * x) * sp.cos(2 * pi * y)


@textbook(
    "elliptic", "electrostatics", "Strauss style", tags="2d, smooth, neumann, point value", exact={"u": _free}
)
def insulated_square(p: Any) -> Any:
    """Only fluxes are given, and the value at one corner."""
    u = _u(x, y)
    return p.Problem(
        p.Box(_SQUARE),
        [sp.Eq(-_laplace(u), 5 * pi**2 * _free)],
        [p.Neumann(u, 0), p.Dirichlet(u, 1, on={x: 0, y: 0})],
    )


_solid = sp.sin(pi * x) * sp.cos(pi * y) * sp.exp(z)


@textbook("elliptic", "heat transfer", "Evans style", tags="3d, smooth", exact={"u": _solid})
def smooth_block(p: Any) -> Any:
    """A smooth temperature in a block."""
    u = _u(x, y, z)
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
        [sp.Eq(_laplace(u, x, y, z), (1 - 2 * pi**2) * _solid)],
        [p.Dirichlet(u, _solid)],
    )


_harmonic = sp.cos(3 * x) * sp.cos(4 * y) * sp.cosh(5 * z) / sp.cosh(5)


@textbook(
    "elliptic", "electrostatics", "Jackson style", tags="3d, smooth, mixed", exact={"u": _harmonic}, tol=1e-6
)
def quadrupole_trap(p: Any) -> Any:
    """A harmonic potential with symmetry planes at x = 0, y = 0 and z = 0."""
    u = _u(x, y, z)
    walls = [p.Neumann(u, 0, on=sp.Eq(c, 0)) for c in (x, y, z)]
    return p.Problem(
        p.Box({x: (0, 1), y: (0, 1), z: (0, 1)}),
        [_laplace(u, x, y, z)],
        [*walls, *(p.Dirichlet(u, _harmonic, on=sp.Eq(c, 1)) for c in (x, y, z))],
    )


def _floor(terms: int) -> References:
    """Navier's series of a simply supported square plate with unit load and stiffness."""
    k = 2.0 * np.arange(terms) + 1
    weights = 16 / (np.pi**6 * k[:, None] * k[None, :] * (k[:, None] ** 2 + k[None, :] ** 2) ** 2)

    def evaluate(xs: Array, ys: Array) -> Array:
        flat = [np.ravel(c) for c in np.broadcast_arrays(xs, ys)]
        left, right = (np.sin(np.pi * np.outer(c, k)) for c in flat)
        return np.reshape(np.sum((left @ weights) * right, axis=1), np.shape(xs))

    return {"u": evaluate}


def _floor_levy() -> References:
    """Levy's single series of the same plate."""

    def evaluate(xs: Array, ys: Array) -> Array:
        n = 2.0 * np.arange(150) + 1

        def term(k: Array, a: Array, b: Array) -> Array:
            half, s = k * np.pi / 2, np.abs(b - 0.5) * k * np.pi
            grow = (np.exp(s - half) + np.exp(-s - half)) / (1 + np.exp(-2 * half))
            slope = (np.exp(s - half) - np.exp(-s - half)) / (1 + np.exp(-2 * half))
            inside = 1 - (half * np.tanh(half) + 2) / 2 * grow + s / 2 * slope
            found: Array = 4 / (np.pi * k) ** 5 * np.sin(k * np.pi * a) * inside
            return found

        return _summed(term, n, xs, ys)

    return {"u": evaluate}


@textbook(
    "elliptic",
    "elasticity",
    "Timoshenko style",
    tags="2d, fourth order, corner",
    numeric=lambda: _floor(600),
    second=_floor_levy,
    accuracy=1e-10,
    tol=1e-6,
    patch=0.1,
    residual_tol=2e-3,
)
def floor_plate(p: Any) -> Any:
    """A simply supported plate under an even load."""
    u = _u(x, y)
    bi = u.diff(x, 4) + 2 * u.diff(x, 2, y, 2) + u.diff(y, 4)
    return p.Problem(
        p.Box(_SQUARE),
        [sp.Eq(bi, 1)],
        [
            p.Dirichlet(u, 0, on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1), sp.Eq(y, 0), sp.Eq(y, 1))),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Or(sp.Eq(x, 0), sp.Eq(x, 1))),
            p.Condition(sp.Eq(u.diff(y, 2), 0), on=sp.Or(sp.Eq(y, 0), sp.Eq(y, 1))),
        ],
    )


def _hot_lid(xs: Array, ys: Array) -> Array:
    """Laplace's equation with 1 on the top and 0 elsewhere: the half-strip's solution and a fast series."""
    top = 1 - np.asarray(ys, dtype=float)
    strip = 2 / np.pi * np.arctan2(np.sin(np.pi * np.asarray(xs)), np.sinh(np.pi * top))
    n = 2.0 * np.arange(12) + 1

    def term(k: Array, a: Array, b: Array) -> Array:
        rest = (np.exp(-k * np.pi * (3 - b)) - np.exp(-k * np.pi * (1 + b))) / (1 - np.exp(-2 * k * np.pi))
        found: Array = 4 / (np.pi * k) * np.sin(k * np.pi * a) * rest
        return found

    return strip + _summed(term, n, xs, ys)


def _hot_lid_strips() -> References:
    """The same as an alternating sum of half-strips by reflection in y."""

    def strip(a: Array, b: Array) -> Array:
        return 2 / np.pi * np.arctan2(np.sin(np.pi * a), np.sinh(np.pi * b))

    return {
        "u": lambda a, b: np.sum(
            [strip(a, 2 * j + 1 - b) - strip(a, 2 * j + 1 + b) for j in range(12)], axis=0
        )
    }


@textbook(
    "elliptic",
    "heat transfer",
    "Haberman style",
    tags="2d, jump, corner",
    numeric=lambda: {"u": _hot_lid},
    second=_hot_lid_strips,
    accuracy=1e-13,
    tol=1e-3,
)
def hot_lid(p: Any) -> Any:
    """One hot side: the boundary values jump at two corners."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [_laplace(u)], [p.Dirichlet(u, 1, on=sp.Eq(y, 1)), p.Dirichlet(u, 0)])


_kirchhoff = 2 * sp.sinh(sp.asinh(sp.Rational(3, 2) * sp.exp(x) * sp.cos(y)) / 3)


@textbook(
    "elliptic",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="2d, nonlinear, flux, smooth",
    exact={"u": _kirchhoff},
)
def hot_conductor(p: Any) -> Any:
    """A conductivity 1 + u^2 that grows with the temperature."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [sp.Eq(p.div((1 + u**2) * p.grad(u)), 0)], [p.Dirichlet(u, _kirchhoff)])


# ------------------------------------------------------------------------------------------------------------
# (d) Evolutions
# ------------------------------------------------------------------------------------------------------------

_steel = sp.Rational(12, 10**6)
_rate = _steel * pi**2 * 100


@textbook(
    "evolution",
    "heat transfer",
    "Haberman style",
    tags="time, smooth, offset, units",
    exact={"u": sp.Rational(29315, 100) + 80 * sp.exp(-_rate * t) * sp.sin(10 * pi * x)},
)
def steel_rod(p: Any) -> Any:
    """Ten centimetres of steel cooling for a minute, kelvin and metres."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 0.1).during(t, 0, 60),
        [sp.Eq(u.diff(t), _steel * u.diff(x, 2))],
        [p.Dirichlet(u, 293.15), p.Initial(u, 293.15 + 80 * sp.sin(10 * pi * x))],
    )


def _cooled_slow() -> References:
    """Modes alone, many of them."""
    n = 2.0 * np.arange(2000) + 1
    term = lambda k, a, b: 4 / (np.pi * k) * np.sin(k * np.pi * a) * np.exp(-((k * np.pi) ** 2) * b)
    return {"u": lambda a, b: _summed(term, n, a, np.maximum(b, 1e-5))}


@textbook(
    "evolution",
    "heat transfer",
    "Carslaw-Jaeger style",
    tags="time, jump, incompatible",
    numeric=lambda: {"u": _cooled},
    second=_cooled_slow,
    accuracy=1e-13,
    tol=1e-3,
    patch=0.01,
)
def quenched_rod(p: Any) -> Any:
    """A hot rod whose ends are cold at once."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.2),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, 1)],
    )


def _parabola(terms: int) -> References:
    n = 2.0 * np.arange(terms) + 1
    term = lambda k, a, b: 8 / (np.pi * k) ** 3 * np.sin(k * np.pi * a) * np.exp(-((k * np.pi) ** 2) * b)
    return {"u": lambda a, b: _summed(term, n, a, b)}


def _parabola_images() -> References:
    """u = x(1-x) - 2*int_0^t theta ds, since u_xx = -2*theta with theta the quenched rod."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, 36)])
    s = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in zip(edges, edges[1:], strict=False)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in zip(edges, edges[1:], strict=False)])

    def evaluate(xs: Array, ts: Array) -> Array:
        a, b = (np.ravel(c)[:, None] for c in np.broadcast_arrays(xs, ts))
        loss = b[:, 0] * (_cooled(a, b * s[None, :]) @ w)
        return np.reshape(a[:, 0] * (1 - a[:, 0]) - 2 * loss, np.shape(xs))

    return {"u": evaluate}


@textbook(
    "evolution",
    "heat transfer",
    "Strauss style",
    tags="time, incompatible",
    numeric=lambda: _parabola(4000),
    second=_parabola_images,
    accuracy=1e-9,
    tol=1e-6,
    patch=0.01,
)
def parabola_start(p: Any) -> Any:
    """Values fit at the corners, their rates do not."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.3),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, x * (1 - x))],
    )


_root = _found(lambda s: s * mpmath.tan(s) - 1, 0.86)
_convecting = sp.exp(-(_root**2) * t) * sp.cos(_root * x)


@textbook("evolution", "heat transfer", "Oezisik style", tags="time, smooth, robin", exact={"u": _convecting})
def convecting_slab(p: Any) -> Any:
    """Insulated on the left, losing heat on the right."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 2),
        [sp.Eq(u.diff(t), u.diff(x, 2))],
        [
            p.Neumann(u, 0, on=sp.Eq(x, 0)),
            p.Robin(u, 0, alpha=1, beta=1, on=sp.Eq(x, 1)),
            p.Initial(u, sp.cos(_root * x)),
        ],
    )


def _two_layers() -> tuple[sp.Float, sp.Expr]:
    """The slowest mode of a rod with conductivities 1 and 10 on its halves."""
    a = _found(lambda s: s * mpmath.cot(s / 2) + mpmath.sqrt(10) * s * mpmath.cot(s / mpmath.sqrt(40)), 5.0)
    b = a / sp.sqrt(10)
    return a, sp.Piecewise(
        (sp.sin(a * x) / sp.sin(a / 2), x < _half), (sp.sin(b * (1 - x)) / sp.sin(b / 2), True)
    )


_layer_rate, _layer_shape = _two_layers()


@textbook(
    "evolution",
    "heat transfer",
    "Oezisik style",
    tags="time, jump, flux",
    interfaces={"x": (0.5,)},
    exact={"u": sp.exp(-(_layer_rate**2) * t) * _layer_shape},
)
def layered_rod(p: Any) -> Any:
    """Two materials cooling together."""
    u = _u(x, t)
    k = sp.Piecewise((1, x < _half), (10, True))
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), sp.Derivative(k * u.diff(x), x))],
        [p.Dirichlet(u, 0), p.Initial(u, _layer_shape)],
    )


@textbook(
    "evolution",
    "acoustics",
    "Strauss style",
    tags="time, oscillation, long evolution",
    exact={"u": sp.sin(pi * x) * sp.cos(pi * t) + sp.sin(3 * pi * x) * sp.sin(3 * pi * t) / 3},
)
def string_tones(p: Any) -> Any:
    """Two tones of a string over five periods."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 10),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x)), p.Initial(u.diff(t), pi * sp.sin(3 * pi * x))],
    )


def _plucked(xs: Array, ts: Array) -> Array:
    """D'Alembert with the odd periodic extension of the triangle."""

    def hat(s: Array) -> Array:
        m = np.mod(s, 2.0)
        sign = np.where(m > 1, -1.0, 1.0)
        m = np.where(m > 1, 2 - m, m)
        return sign * np.where(m < 0.3, m / 0.3, (1 - m) / 0.7)

    return (hat(np.asarray(xs) - np.asarray(ts)) + hat(np.asarray(xs) + np.asarray(ts))) / 2


def _parallelogram_defect() -> float:
    """Every solution of u_tt = u_xx, kinked or not, has u(x+h, t) + u(x-h, t) = u(x, t+h) + u(x, t-h)."""
    rng = np.random.default_rng(1)
    h = rng.uniform(0.01, 0.3, 2000)
    a, b = h + (1 - 2 * h) * rng.random(2000), h + (1 - 2 * h) * rng.random(2000)
    return float(
        np.max(np.abs(_plucked(a + h, b) + _plucked(a - h, b) - _plucked(a, b + h) - _plucked(a, b - h)))
    )


def _plucked_series() -> References:
    n = np.arange(1.0, 6000.0)
    term = lambda k, a, b: (
        (2 / 0.21)
        / (np.pi * k) ** 2
        * np.sin(0.3 * k * np.pi)
        * np.sin(k * np.pi * a)
        * np.cos(k * np.pi * b)
    )
    return {"u": lambda a, b: _summed(term, n, a, b)}


@textbook(
    "evolution",
    "acoustics",
    "Haberman style",
    tags="time, jump",
    numeric=lambda: {"u": _plucked},
    second=_plucked_series,
    accuracy=1e-15,
    second_tol=1e-4,
    tol=1e-3,
    patch=1e-4,
    residual_tol=float("inf"),
    extra=_parallelogram_defect,
)
def plucked_string(p: Any) -> Any:
    """A string drawn to a corner and let go: kinks travel (the second reference is a slow series)."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 1),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2))],
        [
            p.Dirichlet(u, 0),
            p.Initial(u, sp.Piecewise((x / _split, x < _split), ((1 - x) / (1 - _split), True))),
            p.Initial(u.diff(t), 0),
        ],
    )


_phase = t / 2 + x * sp.sin(t) - sp.sin(2 * t) / 4
_bell = pi ** sp.Rational(-1, 4) * sp.exp(-((x - sp.cos(t)) ** 2) / 2)


@textbook(
    "evolution",
    "quantum mechanics",
    "Griffiths style",
    tags="time, system, oscillation",
    exact={"u": _bell * sp.cos(_phase), "v": -_bell * sp.sin(_phase)},
    tol=1e-6,
)
def coherent_state(p: Any) -> Any:
    """A packet swinging in a parabola; u + iv is the wave function, which is nothing at the ends."""
    u, v = _u(x, t), _v(x, t)

    def energy(e: Any) -> sp.Expr:
        return -e.diff(x, 2) / 2 + x**2 * e / 2

    start = pi ** sp.Rational(-1, 4) * sp.exp(-((x - 1) ** 2) / 2)
    return p.Problem(
        p.Interval(x, -10, 10).during(t, 0, 6),
        [sp.Eq(u.diff(t), energy(v)), sp.Eq(v.diff(t), -energy(u))],
        [p.Dirichlet(u, 0), p.Dirichlet(v, 0), p.Initial(u, start), p.Initial(v, 0)],
    )


_turn = x / 2 + sp.Rational(3, 8) * t
_hump = sp.sech(x - t / 2)


@textbook(
    "evolution",
    "optics",
    "Agrawal style",
    tags="time, system, nonlinear",
    exact={"u": _hump * sp.cos(_turn), "v": _hump * sp.sin(_turn)},
    tol=1e-6,
)
def light_soliton(p: Any) -> Any:
    """A soliton of the cubic Schroedinger equation, moving at half speed."""
    u, v = _u(x, t), _v(x, t)
    power = u**2 + v**2
    edge = {"u": _hump * sp.cos(_turn), "v": _hump * sp.sin(_turn)}
    return p.Problem(
        p.Interval(x, -8, 8).during(t, 0, 2),
        [sp.Eq(u.diff(t), -v.diff(x, 2) / 2 - power * v), sp.Eq(v.diff(t), u.diff(x, 2) / 2 + power * u)],
        [
            p.Dirichlet(u, edge["u"]),
            p.Dirichlet(v, edge["v"]),
            p.Initial(u, edge["u"].subs(t, 0)),
            p.Initial(v, edge["v"].subs(t, 0)),
        ],
    )


def _cole_hopf(nu: float, points: int) -> References:
    """Burgers' equation from -sin(pi x) by Cole and Hopf's integrals, with the trapezoidal rule."""
    s = np.linspace(-14, 14, points)

    def evaluate(xs: Array, ts: Array) -> Array:
        a, b = (
            np.ravel(c)[:, None] for c in np.broadcast_arrays(np.asarray(xs, float), np.asarray(ts, float))
        )
        result = np.empty(len(a))
        for k in range(0, len(a), 500):
            at = a[k : k + 500] - s[None, :] * np.sqrt(4 * nu * np.maximum(b[k : k + 500], 0))
            weight = -np.cos(np.pi * at) / (2 * np.pi * nu) - s[None, :] ** 2
            weight = np.exp(weight - weight.max(axis=1, keepdims=True))
            result[k : k + 500] = -np.sum(np.sin(np.pi * at) * weight, axis=1) / np.sum(weight, axis=1)
        return np.reshape(result, np.shape(xs))

    return {"u": evaluate}


def _burgers_fourier(nu: float, modes: int, breaks: Sequence[float]) -> References:
    """The same by sine modes: u u_x is computed on a grid fine enough to avoid aliasing."""
    k = np.arange(1, modes)
    grid = np.arange(4 * modes) / (2.0 * modes) - 1
    sines = np.sin(np.pi * np.outer(grid, k))
    cosines = np.cos(np.pi * np.outer(grid, k))

    def nonlinear(c: Array) -> Array:
        found: Array = np.pi * k[:, None] * (cosines.T @ ((sines @ c) ** 2 / 2)) / (2 * modes)
        return found

    start = np.zeros(modes - 1)
    start[0] = -1.0
    solve = semilinear(-nu * (np.pi * k) ** 2, start, nonlinear, breaks)
    return {"u": _on_times(solve, lambda q: np.sin(np.pi * np.outer(q, k)), slice(None))}


@textbook(
    "evolution",
    "fluids",
    "Whitham style",
    tags="time, nonlinear, layer",
    numeric=lambda: _cole_hopf(0.01 / math.pi, 2400),
    second=lambda: _cole_hopf(0.01 / math.pi, 1500),
    accuracy=1e-11,
    tol=1e-6,
    patch=1e-3,
)
def burgers_shock(p: Any) -> Any:
    """A sine wave steepens to a thin front."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 1),
        [u.diff(t) + u * u.diff(x) - sp.Rational(1, 100) / pi * u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, -sp.sin(pi * x))],
    )


@textbook(
    "evolution",
    "fluids",
    "Whitham style",
    tags="time, nonlinear",
    numeric=lambda: _cole_hopf(0.1, 1200),
    second=lambda: _burgers_fourier(0.1, 64, np.linspace(0, 1, 41).tolist()),
    accuracy=1e-12,
)
def burgers_mild(p: Any) -> Any:
    """The same with ample viscosity."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 1),
        [u.diff(t) + u * u.diff(x) - sp.Rational(1, 10) * u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, -sp.sin(pi * x))],
    )


_front = (1 + sp.tanh((x - 3 * t / sp.sqrt(2)) / (-2 * sp.sqrt(2)))) / 2


@textbook("evolution", "materials", "Cahn style", tags="time, nonlinear", exact={"u": _front})
def moving_phase_front(p: Any) -> Any:
    """A stable phase invades an unstable one."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -8, 12).during(t, 0, 3),
        [sp.Eq(u.diff(t), u.diff(x, 2) + u - u**3)],
        [p.Dirichlet(u, _front), p.Initial(u, _front.subs(t, 0))],
    )


def _metastable(n: int, windows: int) -> References:
    """u_t = u_xx/100 + u - u^3 with u(+-1) = +-1: the deviation from x on Chebyshev points, in eigenvectors."""
    nodes, matrix = _chebyshev(n)
    second = (matrix @ matrix)[1:-1, 1:-1] / 100
    inner = nodes[1:-1]
    rates, shapes = np.linalg.eig(second)
    inverse = np.linalg.inv(shapes)
    start = 0.53 * inner + 0.47 * np.sin(-1.5 * np.pi * inner) - inner

    def nonlinear(c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        v = np.real(shapes @ c) + inner[:, None]
        found: npt.NDArray[Any] = inverse @ (v - v**3)
        return found

    breaks = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 12), np.linspace(0.1, 4, windows)[1:]])
    solve = semilinear(rates, inverse @ start, nonlinear, breaks.tolist())
    series = _coefficients(n)[:, 1:-1] @ shapes

    def basis(q: Array) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = np.polynomial.chebyshev.chebvander(q, n) @ series
        return found

    deviation = _on_times(solve, basis, slice(None))
    return {"u": lambda a, b: deviation(a, b) + np.asarray(a)}


@textbook(
    "evolution",
    "materials",
    "Trefethen style",
    tags="time, nonlinear, incompatible, layer",
    numeric=lambda: _metastable(120, 40),
    second=lambda: _metastable(90, 60),
    accuracy=1e-7,
    tol=1e-5,
    patch=5e-3,
)
def metastable_phases(p: Any) -> Any:
    """Two walls of a mixture slowly form."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -1, 1).during(t, 0, 4),
        [sp.Eq(u.diff(t), sp.Rational(1, 100) * u.diff(x, 2) + u - u**3)],
        [
            p.Dirichlet(u, -1, on=sp.Eq(x, -1)),
            p.Dirichlet(u, 1, on=sp.Eq(x, 1)),
            p.Initial(u, 0.53 * x - 0.47 * sp.sin(1.5 * pi * x)),
        ],
    )


_soliton = 2 * sp.sech(x - 4 * t) ** 2


@textbook(
    "evolution",
    "fluids",
    "Drazin-Johnson style",
    tags="time, nonlinear, third order",
    exact={"u": _soliton},
    tol=1e-6,
)
def water_soliton(p: Any) -> Any:
    """One soliton of Korteweg and de Vries."""
    u, end = _u(x, t), sp.Eq(x, 10)
    return p.Problem(
        p.Interval(x, -6, 10).during(t, 0, 1),
        [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
        [
            p.Dirichlet(u, _soliton, on=sp.Eq(x, -6)),
            p.Dirichlet(u, _soliton, on=end),
            p.Condition(sp.Eq(u.diff(x), _soliton.diff(x)), on=end),
            p.Initial(u, _soliton.subs(t, 0)),
        ],
    )


def _tau_function() -> sp.Expr:
    one, two = x - t, sp.Rational(8, 5) * x - sp.Rational(512, 125) * t + 4
    link = (sp.Rational(3, 5) / sp.Rational(13, 5)) ** 2
    tau_function = 1 + sp.exp(one) + sp.exp(two) + link * sp.exp(one + two)
    return 2 * (tau_function.diff(x, 2) * tau_function - tau_function.diff(x) ** 2) / tau_function**2


_pair = _tau_function()


@textbook(
    "evolution",
    "fluids",
    "Drazin-Johnson style",
    tags="time, nonlinear, third order",
    exact={"u": _pair},
    tol=1e-6,
)
def two_solitons(p: Any) -> Any:
    """A fast soliton overtakes a slow one."""
    u, end = _u(x, t), sp.Eq(x, 12)
    return p.Problem(
        p.Interval(x, -12, 12).during(t, 0, 2),
        [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)],
        [
            p.Dirichlet(u, _pair, on=sp.Eq(x, -12)),
            p.Dirichlet(u, _pair, on=end),
            p.Condition(sp.Eq(u.diff(x), _pair.diff(x)), on=end),
            p.Initial(u, _pair.subs(t, 0)),
        ],
    )


_genes = (1 - sp.tanh((x - 5 * t / sp.sqrt(6)) / (2 * sp.sqrt(6)))) ** 2 / 4


@textbook("evolution", "biology", "Murray style", tags="time, nonlinear", exact={"u": _genes})
def gene_front(p: Any) -> Any:
    """Fisher's equation with the front of Ablowitz and Zeppetella."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -10, 20).during(t, 0, 4),
        [sp.Eq(u.diff(t), u.diff(x, 2) + u * (1 - u))],
        [p.Dirichlet(u, _genes), p.Initial(u, _genes.subs(t, 0))],
    )


_ringing = sp.exp(sp.sin(2 * pi * (x - t)))


@textbook(
    "evolution", "transport", "LeVeque style", tags="time, periodic, long evolution", exact={"u": _ringing}
)
def ring_transport(p: Any) -> Any:
    """A profile carried five times around a ring."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 5),
        [u.diff(t) + u.diff(x)],
        [p.Periodic(u, x), p.Initial(u, _ringing.subs(t, 0))],
    )


def _call(spot: Array, left: Array) -> Array:
    """The price of a call struck at 100 with 5 % interest and 20 % volatility, left years before expiry."""
    spot, left = np.broadcast_arrays(np.asarray(spot, dtype=float), np.asarray(left, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        d1 = (np.log(spot / 100) + 0.07 * left) / (0.2 * np.sqrt(left))
        value = spot * scipy.special.ndtr(d1) - 100 * np.exp(-0.05 * left) * scipy.special.ndtr(
            d1 - 0.2 * np.sqrt(left)
        )
    return np.where(left <= 0, np.maximum(spot - 100, 0), np.where(spot <= 0, 0.0, value))


def _call_expectation() -> References:
    """The same as a discounted expectation, by the Gauss-Legendre rule from the strike upwards."""
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def evaluate(spot: Array, left: Array) -> Array:
        a, b = (np.ravel(c)[:, None] for c in np.broadcast_arrays(spot, left))
        spread = 0.2 * np.sqrt(b)
        low = np.clip((np.log(100 / a) - 0.03 * b) / spread, -10, 10)
        q = low + (10 - low) * (nodes[None, :] + 1) / 2
        gain = (a * np.exp(0.03 * b + spread * q) - 100) * np.exp(-(q**2) / 2) / math.sqrt(2 * math.pi)
        return np.reshape(np.exp(-0.05 * b[:, 0]) * (gain @ weights) * (10 - low[:, 0]) / 2, np.shape(spot))

    return {"u": evaluate}


@textbook(
    "evolution",
    "finance",
    "Wilmott style",
    tags="time, jump, units, degenerate",
    numeric=lambda: {"u": _call},
    second=_call_expectation,
    accuracy=1e-12,
    tol=1e-4,
    patch=5e-3,
    residual_tol=1e-5,
)
def call_option(p: Any) -> Any:
    """Black and Scholes' call with its kinked payoff, in the time that is left."""
    u = _u(S, tau)
    right = 0.02 * S**2 * u.diff(S, 2) + 0.05 * S * u.diff(S) - 0.05 * u
    return p.Problem(
        p.Interval(S, 0, 400).during(tau, 0, 1),
        [sp.Eq(u.diff(tau), right)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(S, 0)),
            p.Dirichlet(u, 400 - 100 * sp.exp(-0.05 * tau), on=sp.Eq(S, 400)),
            p.Initial(u, sp.Max(S - 100, 0)),
        ],
    )


def _cosine_system(modes: int, windows: int) -> References:
    """Schnakenberg's kinetics with sealed ends by cosine modes."""
    k = np.arange(modes)
    grid = (np.arange(2 * modes) + 0.5) / (2 * modes)
    shapes = np.cos(np.pi * np.outer(grid, k))
    back = shapes.T / modes
    back[0] /= 2
    rates = np.concatenate([-0.01 * (np.pi * k) ** 2, -0.4 * (np.pi * k) ** 2])

    def nonlinear(c: Array) -> Array:
        a, b = shapes @ c[:modes], shapes @ c[modes:]
        both = a * a * b
        return np.concatenate([back @ (0.1 - a + both), back @ (0.9 - both)])

    start = np.zeros(2 * modes)
    start[0], start[modes], start[2] = 1.0, 0.9, 0.1
    solve = semilinear(rates, start, nonlinear, np.linspace(0, 4, windows).tolist())
    basis = lambda q: np.cos(np.pi * np.outer(q, k))
    return {"u": _on_times(solve, basis, slice(0, modes)), "v": _on_times(solve, basis, slice(modes, None))}


@textbook(
    "evolution",
    "biology",
    "Murray style",
    tags="time, system, nonlinear",
    unknowns="u v",
    numeric=lambda: _cosine_system(40, 41),
    second=lambda: _cosine_system(28, 61),
    accuracy=1e-12,
    tol=1e-6,
)
def animal_coat(p: Any) -> Any:
    """Two reacting and spreading substances with sealed ends."""
    u, v = _u(x, t), _v(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 4),
        [
            sp.Eq(u.diff(t), 0.01 * u.diff(x, 2) + 0.1 - u + u**2 * v),
            sp.Eq(v.diff(t), 0.4 * v.diff(x, 2) + 0.9 - u**2 * v),
        ],
        [p.Neumann(u, 0), p.Neumann(v, 0), p.Initial(u, 1 + 0.1 * sp.cos(2 * pi * x)), p.Initial(v, 0.9)],
    )


def _flames(modes: int, windows: int) -> References:
    """Kuramoto and Sivashinsky's equation on [0, 8 pi] by Fourier modes."""
    k = np.arange(-modes, modes + 1)
    q, m = k / 4, 4 * modes
    grid = 8 * np.pi * np.arange(m) / m
    shapes = np.exp(1j * np.outer(grid, q))
    back = shapes.conj().T / m

    def nonlinear(c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found: npt.NDArray[Any] = -0.5j * q[:, None] * (back @ np.real(shapes @ c) ** 2)
        return found

    start = back @ (np.cos(grid / 4) * (1 + np.sin(grid / 4)))
    solve = semilinear((q**2 - q**4).astype(complex), start, nonlinear, np.linspace(0, 8, windows).tolist())
    return {"u": _on_times(solve, lambda s: np.exp(1j * np.outer(s, q)), slice(None))}


@textbook(
    "evolution",
    "combustion",
    "Kuramoto-Sivashinsky, short",
    tags="time, nonlinear, periodic, fourth order",
    numeric=lambda: _flames(48, 81),
    second=lambda: _flames(36, 121),
    accuracy=1e-11,
    tol=1e-6,
    patch=0.03,
    residual_tol=1e-5,
)
def wrinkled_flame(p: Any) -> Any:
    """A flame front begins to wrinkle."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 8 * pi).during(t, 0, 8),
        [u.diff(t) + u * u.diff(x) + u.diff(x, 2) + u.diff(x, 4)],
        [p.Periodic(u, x), p.Initial(u, sp.cos(x / 4) * (1 + sp.sin(x / 4)))],
    )


_omega = sp.sqrt(4 * pi**2 + 2 - 1)


@textbook(
    "evolution",
    "electronics",
    "Pozar style",
    tags="time, oscillation",
    exact={"u": sp.exp(-t) * (sp.cos(_omega * t) + sp.sin(_omega * t) / _omega) * sp.sin(2 * pi * x)},
)
def telegraph_line(p: Any) -> Any:
    """A lossy line: u_tt + 2 u_t + 2 u = u_xx."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 3),
        [u.diff(t, 2) + 2 * u.diff(t) + 2 * u - u.diff(x, 2)],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(2 * pi * x)), p.Initial(u.diff(t), 0)],
    )


_swing = sp.sin(pi * x) * sp.cos(pi**2 * t) + sp.sin(2 * pi * x) * sp.cos(4 * pi**2 * t) / 4


@textbook(
    "evolution",
    "elasticity",
    "Meirovitch style",
    tags="time, fourth order, oscillation",
    exact={"u": _swing},
    tol=1e-6,
)
def swinging_beam(p: Any) -> Any:
    """Two modes of a simply supported beam."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1).during(t, 0, 1),
        [u.diff(t, 2) + u.diff(x, 4)],
        [
            p.Dirichlet(u, 0, on=sp.Eq(x, 0)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 0)),
            p.Dirichlet(u, 0, on=sp.Eq(x, 1)),
            p.Condition(sp.Eq(u.diff(x, 2), 0), on=sp.Eq(x, 1)),
            p.Initial(u, _swing.subs(t, 0)),
            p.Initial(u.diff(t), 0),
        ],
    )


_spread = 1 - sp.Rational(3, 4) * sp.exp(-2 * t)
_cloud = sp.exp(-((x - 2 * sp.exp(-t)) ** 2) / (2 * _spread)) / sp.sqrt(2 * pi * _spread)


@textbook("evolution", "statistics", "Risken style", tags="time, smooth, peak", exact={"u": _cloud})
def drifting_density(p: Any) -> Any:
    """Fokker and Planck's equation of a spring in a bath; the density is nothing far out."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -9, 9).during(t, 0, 3),
        [sp.Eq(u.diff(t), sp.diff(x * u, x) + u.diff(x, 2))],
        [p.Dirichlet(u, 0), p.Initial(u, _cloud.subs(t, 0))],
    )


_width = 400 + 4 * t
_plume = 20 / sp.sqrt(_width) * sp.exp(-((x - 300 - t / 2) ** 2) / _width)


@textbook(
    "evolution", "environment", "Fischer style", tags="time, units, peak", exact={"u": _plume}, tol=1e-6
)
def river_spill(p: Any) -> Any:
    """A spill carried down a river: metres, seconds, milligrams per litre."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, 0, 1200).during(t, 0, 900),
        [sp.Eq(u.diff(t) + u.diff(x) / 2, u.diff(x, 2))],
        [p.Dirichlet(u, _plume), p.Initial(u, _plume.subs(t, 0))],
    )


_breather = 4 * sp.atan(sp.Rational(4, 3) * sp.sin(sp.Rational(3, 5) * t) / sp.cosh(sp.Rational(4, 5) * x))


@textbook(
    "evolution",
    "quantum mechanics",
    "Rajaraman style",
    tags="time, nonlinear, oscillation",
    exact={"u": _breather},
    tol=1e-6,
)
def breather(p: Any) -> Any:
    """A breather of the sine-Gordon equation."""
    u = _u(x, t)
    return p.Problem(
        p.Interval(x, -8, 8).during(t, 0, 10),
        [sp.Eq(u.diff(t, 2), u.diff(x, 2) - sp.sin(u))],
        [p.Dirichlet(u, _breather), p.Initial(u, 0), p.Initial(u.diff(t), _breather.diff(t).subs(t, 0))],
    )


_warm = sp.exp(-5 * pi**2 * t) * sp.sin(pi * x) * sp.sin(2 * pi * y)


@textbook(
    "evolution", "heat transfer", "Haberman style", tags="time, 2d, smooth", exact={"u": _warm}, tol=1e-7
)
def cooling_plate(p: Any) -> Any:
    """A plate with cold edges."""
    u = _u(x, y, t)
    return p.Problem(
        p.Box(_SQUARE).during(t, 0, 0.1),
        [sp.Eq(u.diff(t), _laplace(u))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x) * sp.sin(2 * pi * y))],
    )


_drum = sp.sin(pi * x) * sp.sin(pi * y) * sp.cos(sp.sqrt(2) * pi * t)


@textbook(
    "evolution", "acoustics", "Strauss style", tags="time, 2d, oscillation", exact={"u": _drum}, tol=1e-7
)
def square_drum(p: Any) -> Any:
    """The lowest tone of a square drum."""
    u = _u(x, y, t)
    return p.Problem(
        p.Box(_SQUARE).during(t, 0, 2),
        [sp.Eq(u.diff(t, 2), _laplace(u))],
        [p.Dirichlet(u, 0), p.Initial(u, sp.sin(pi * x) * sp.sin(pi * y)), p.Initial(u.diff(t), 0)],
    )


# ------------------------------------------------------------------------------------------------------------
# (e) Problems that have no (single) solution: an honest solver does not call them converged
# ------------------------------------------------------------------------------------------------------------


@textbook(
    "ill-posed", "heat transfer", "Fredholm's alternative", tags="contradictory", expected="not converged"
)
def sealed_and_heated(p: Any) -> Any:
    """Heat comes in and cannot leave: no steady state."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [sp.Eq(-u.diff(x, 2), 1)], [p.Neumann(u, 0)])


@textbook("ill-posed", "mechanics", "first lesson", tags="contradictory", expected="not converged")
def two_truths(p: Any) -> Any:
    """A constant that should be 0 on the left and 1 on the right."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1),
        [u.diff(x)],
        [p.Dirichlet(u, 0, on=sp.Eq(x, 0)), p.Dirichlet(u, 1, on=sp.Eq(x, 1))],
    )


@textbook("ill-posed", "mechanics", "first lesson", tags="under-determined", expected="not converged")
def speed_forgotten(p: Any) -> Any:
    """A second-order equation with the place but not the speed at the beginning."""
    u = _u(t)
    return p.Problem(p.Interval(t, 0, 5), [u.diff(t, 2) + u], [p.Initial(u, 1)])


@textbook(
    "ill-posed",
    "electrostatics",
    "Fredholm's alternative",
    tags="under-determined, 2d",
    expected="not converged",
)
def floating_potential(p: Any) -> Any:
    """Only fluxes are given: any constant may be added."""
    u = _u(x, y)
    return p.Problem(p.Box(_SQUARE), [sp.Eq(-_laplace(u), 5 * pi**2 * _free)], [p.Neumann(u, 0)])


@textbook(
    "ill-posed", "combustion", "Ascher-Petzold style", tags="no solution, nonlinear", expected="not converged"
)
def explosion(p: Any) -> Any:
    """Bratu's equation beyond its fold (3.5138...)."""
    u = _u(x)
    return p.Problem(p.Interval(x, 0, 1), [u.diff(x, 2) + 4 * sp.exp(u)], [p.Dirichlet(u, 0)])


@textbook(
    "ill-posed", "combustion", "Boyce-DiPrima style", tags="blow-up, nonlinear", expected="not converged"
)
def blow_up_inside(p: Any) -> Any:
    """The solution ends at t = 1, the interval at 1.2."""
    u = _u(t)
    return p.Problem(p.Interval(t, 0, 1.2), [sp.Eq(u.diff(t), u**2)], [p.Initial(u, 1)])


@textbook("ill-posed", "acoustics", "Fredholm's alternative", tags="no solution", expected="not converged")
def driven_at_resonance(p: Any) -> Any:
    """A string driven in exactly its own tone."""
    u = _u(x)
    return p.Problem(
        p.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + pi**2 * u, sp.sin(pi * x))], [p.Dirichlet(u, 0)]
    )


# ------------------------------------------------------------------------------------------------------------
# Points that no regular grid has
# ------------------------------------------------------------------------------------------------------------


def sample(bounds: Mapping[str, tuple[float, float]], count: int, seed: int) -> list[Array]:
    """Random points, a third of them near edges (at distances spread over six orders of magnitude)."""
    rng = np.random.default_rng([seed, 20240607])
    low, high = (np.array([b[i] for b in bounds.values()]) for i in (0, 1))
    unit = rng.random((count, len(low)))
    near = rng.random(count) < 1 / 3
    axis = rng.integers(len(low), size=count)
    close = 10.0 ** -rng.uniform(0.5, 6, size=count)
    close = np.where(rng.random(count) < 0.5, close, 1 - close)
    rows = np.flatnonzero(near)
    unit[rows, axis[rows]] = close[rows]
    return list((low + unit * (high - low)).T)


# ------------------------------------------------------------------------------------------------------------
# Verification without the solver
# ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """What was found about one reference; every number is relative."""

    name: str
    residual: float
    conditions: float
    second: float
    interface: float
    ok: bool


def _patch_derivatives(
    entry: Entry,
    recorded: Recorded,
    point: Array,
    sides: Mapping[int, int],
    wanted: Iterable[sp.Basic],
    patch: float,
) -> dict[sp.Basic, float]:
    """Derivatives of numerical references at a point, from a small Chebyshev patch around or beside it."""
    n = 10 if len(point) < 3 else 8
    nodes, matrix = _chebyshev(n)
    grids, rows = [], []
    for i, (a, b) in enumerate(recorded.bounds.values()):
        half = patch * (b - a)
        if i not in sides:
            half = min(half, point[i] - a, b - point[i])
        center = a + half if sides.get(i) == 0 else b - half if sides.get(i) == 1 else point[i]
        grids.append(center + half * nodes)
        at = 0 if sides.get(i) == 0 else n if sides.get(i) == 1 else n // 2
        powers, scaled = [np.eye(n + 1)[at]], matrix / half
        for _ in range(4):
            powers.append(powers[-1] @ scaled)
        rows.append(powers)
    values: dict[str, Array] = {}
    found: dict[sp.Basic, float] = {}
    symbols = recorded.coordinates
    for target in wanted:
        function = target.args[0] if isinstance(target, sp.Derivative) else target
        name = str(function.func)
        if name not in values:
            values[name] = entry.reference[name](*np.meshgrid(*grids, indexing="ij"))
        orders = dict.fromkeys(symbols, 0)
        if isinstance(target, sp.Derivative):
            for symbol, order in target.variable_count:
                orders[symbol] += int(order)
        block = values[name]
        for i, symbol in enumerate(symbols):
            block = np.tensordot(rows[i][orders[symbol]], block, axes=(0, 0))
        found[target] = float(block)
    return found


_MPMATH: list[Any] = [{"airyaiprime": lambda q: mpmath.airyai(q, derivative=1)}, "mpmath"]


class _Evaluator:
    """Values of expressions in the unknowns for a reference, with the size of their largest term."""

    def __init__(self, entry: Entry, recorded: Recorded) -> None:
        self.entry, self.recorded = entry, recorded
        self.exact = {recorded.unknowns[n]: e for n, e in entry.exact.items()}
        self.compiled: dict[sp.Expr, list[Any]] = {}

    def __call__(
        self, expression: Any, point: Array, sides: Mapping[int, int], scale: float = 1e-300
    ) -> tuple[float, float]:
        """The value at a point (`sides` says on which faces it lies) and the size of the terms (at least `scale`)."""
        expression = sp.sympify(expression).replace(sp.DiracDelta, lambda *_: sp.Integer(0))
        terms = sp.Add.make_args(expression)
        if self.exact:
            if expression not in self.compiled:
                done = [sp.sympify(e).subs(self.exact).doit() for e in terms]
                self.compiled[expression] = [sp.lambdify(self.recorded.coordinates, e, _MPMATH) for e in done]
            with mpmath.workdps(40):
                parts = [f(*(mpmath.mpf(float(q)) for q in point)) for f in self.compiled[expression]]
                return float(mpmath.fsum(parts)), max(scale, float(max(abs(q) for q in parts)))
        wanted = sorted(
            expression.atoms(AppliedUndef) | {d for d in expression.atoms(sp.Derivative)},
            key=lambda e: str(e),
        )
        found = []
        for factor in (
            4.0,
            1.0,
            0.25,
            0.06,
            0.01,
        ):  # truncation asks for small patches, rounding for large ones
            patch = min(self.entry.patch * factor, 0.2)
            known = _patch_derivatives(self.entry, self.recorded, point, sides, wanted, patch)
            value, large = self._terms(terms, wanted, known, point)
            found.append((value, max(large, scale)))
        return min(found, key=lambda item: abs(item[0]) / item[1])

    def difference(
        self, what: Any, one: tuple[Array, Mapping[int, int]], two: tuple[Array, Mapping[int, int]]
    ) -> float:
        """How much a derivative differs between two places."""
        if self.exact:
            return abs(self(what, *one)[0] - self(what, *two)[0])
        gaps = []
        for factor in (4.0, 1.0, 0.25, 0.06):
            patch = min(self.entry.patch * factor, 0.2)
            a, b = (
                _patch_derivatives(self.entry, self.recorded, *q, [what], patch)[what] for q in (one, two)
            )
            gaps.append(abs(a - b))
        return min(gaps)

    def _terms(
        self,
        terms: Sequence[sp.Expr],
        wanted: Sequence[sp.Basic],
        known: Mapping[sp.Basic, float],
        point: Array,
    ) -> tuple[float, float]:
        """The sum of the terms and the size of the largest, the derivatives being known."""
        dummies = {target: sp.Dummy() for target in wanted}
        at = {c: float(q) for c, q in zip(self.recorded.coordinates, point, strict=True)}
        values = {dummies[target]: value for target, value in known.items()}
        parts = [float(term.xreplace(dummies).subs(values).subs(at)) for term in terms]
        return math.fsum(parts), max(abs(q) for q in parts)


def _holds(relation: Any, point: Array, recorded: Recorded) -> bool:
    """Whether a relation of the kind used here holds at a point."""
    if relation is None:
        return True
    if isinstance(relation, sp.And):
        return all(_holds(part, point, recorded) for part in relation.args)
    if isinstance(relation, sp.Or):
        return any(_holds(part, point, recorded) for part in relation.args)
    at = {c: float(q) for c, q in zip(recorded.coordinates, point, strict=True)}
    if isinstance(relation, sp.Eq):
        size = max(b - a for a, b in (recorded.bounds[str(s)] for s in relation.free_symbols))
        return bool(abs(float((relation.lhs - relation.rhs).subs(at))) < 1e-9 * size)
    return bool(relation.subs(at))


def _faces(recorded: Recorded, rng: np.random.Generator, margin: float) -> list[tuple[Array, dict[int, int]]]:
    """Random points on the faces of space, with the face of each."""
    found = []
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    for i, name in enumerate(recorded.bounds):
        if name == recorded.time:
            continue
        for side in (0, 1):
            for _ in range(4):
                point = low + (high - low) * rng.uniform(margin, 1 - margin, len(low))
                point[i] = (low, high)[side][i]
                found.append((point, {i: side}))
    return found


def _condition_defect(
    entry: Entry, recorded: Recorded, evaluator: _Evaluator, sizes: Mapping[str, float]
) -> float:
    """The largest relative defect of all conditions."""
    rng = np.random.default_rng(5)
    faces = _faces(recorded, rng, entry.patch * 1.01)
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    symbols, worst = recorded.coordinates, 0.0
    covered = dict.fromkeys(range(len(recorded.conditions)), 0)
    for number, said in enumerate(recorded.conditions):
        functions = sp.sympify(said.what).atoms(AppliedUndef)
        size = max(sizes[str(f.func)] for f in functions)

        def defect(
            expression: Any, point: Array, sides: Mapping[int, int], scale: float, number: int = number
        ) -> float:
            value, large = evaluator(expression, point, sides, scale)
            covered[number] += 1
            return abs(value) / large

        if said.kind == "initial":
            i = list(recorded.bounds).index(recorded.time) if recorded.time else 0
            order = (
                sum(int(n) for _, n in said.what.variable_count)
                if isinstance(said.what, sp.Derivative)
                else 0
            )
            for _ in range(6):
                point = low + (high - low) * rng.uniform(entry.patch * 1.01, 1 - entry.patch * 1.01, len(low))
                point[i] = low[i]
                scale = size / (high[i] - low[i]) ** order
                worst = max(worst, defect(said.what - said.value, point, {i: 0}, scale))
        elif isinstance(said.on, dict):
            point = np.array([float(said.on[c]) for c in symbols])
            value = float(entry.reference[str(said.what.func)](*point))
            covered[number] += 1
            worst = max(worst, abs(value - float(said.value)) / size)
        elif said.kind == "periodic":
            i = symbols.index(said.extra)
            for point, sides in faces:
                if sides != {i: 0}:
                    continue
                other = point.copy()
                other[i] = high[i]
                for order in range(2):
                    what = said.what.diff(said.extra, order) if order else said.what
                    unit = size / (high[i] - low[i]) ** order
                    gap = evaluator.difference(what, (point, {i: 0}), (other, {i: 1}))
                    covered[number] += 1
                    worst = max(worst, gap / unit)
        else:
            rivals = [
                o.on
                for o in recorded.conditions
                if o is not said
                and o.on is not None
                and not isinstance(o.on, dict)
                and o.kind != "periodic"
                and sp.sympify(o.what).atoms(AppliedUndef) & functions
            ]
            for point, sides in faces:
                if not _holds(said.on, point, recorded):
                    continue
                if said.on is None and any(_holds(o, point, recorded) for o in rivals):
                    continue
                ((i, side),) = sides.items()
                length = high[i] - low[i]
                if said.kind == "dirichlet":
                    worst = max(worst, defect(said.what - said.value, point, sides, size))
                    continue
                if said.kind == "condition":
                    highest = max((d.derivative_count for d in said.what.atoms(sp.Derivative)), default=0)
                    worst = max(worst, defect(said.what, point, sides, size / length**highest))
                    continue
                outward = (1 if side else -1) * said.what.diff(symbols[i])
                alpha, beta = said.extra if said.kind == "robin" else (0, 1)
                expression = alpha * said.what + beta * outward - said.value
                worst = max(worst, defect(expression, point, sides, size / length))
    if not all(covered.values()):
        missing = [recorded.conditions[i] for i, c in covered.items() if not c]
        raise AssertionError(f"{entry.name}: conditions that no face meets: {missing}")
    return worst


def _interface_defect(entry: Entry, recorded: Recorded) -> float:
    """Jumps of the unknowns and of the fluxes at the interfaces, relative to their sizes."""
    worst = 0.0
    exact = {recorded.unknowns[n]: e for n, e in entry.exact.items()}
    rng = np.random.default_rng(3)
    for name, places in entry.interfaces.items():
        watched: list[sp.Expr] = list(exact.values())
        for equation in recorded.equations:
            for d in equation.atoms(sp.Derivative):
                if not isinstance(d.args[0], AppliedUndef) and str(d.variables[0]) == name:
                    watched.append(d.args[0].subs(exact).doit())
        for place in places:
            for expression in watched:
                f = sp.lambdify(recorded.coordinates, expression, "numpy")
                at = {c: rng.uniform(*b) for c, b in recorded.bounds.items()}
                step = 1e-9 * (recorded.bounds[name][1] - recorded.bounds[name][0])
                left, right = (float(f(*{**at, name: place + s}.values())) for s in (-step, step))
                size = max(abs(float(f(*row))) for row in np.column_stack(sample(recorded.bounds, 50, 2)))
                worst = max(worst, abs(left - right) / size)
    return worst


def _check(entry: Entry) -> Check:
    """Check one reference: equations, conditions, the second reference, interfaces."""
    recorded = entry.recorded
    if entry.expected != "converged":
        return Check(entry.name, 0.0, 0.0, 0.0, 0.0, not entry.reference)
    names = set(recorded.unknowns)
    if names != set(entry.reference):
        raise AssertionError(f"{entry.name}: references {set(entry.reference)} for unknowns {names}")
    points = sample(recorded.bounds, 600, 11)
    values = {n: f(*points) for n, f in entry.reference.items()}
    if not all(np.all(np.isfinite(v)) for v in values.values()):
        raise AssertionError(f"{entry.name}: the reference is not finite everywhere")
    sizes = {n: float(np.max(np.abs(v))) for n, v in values.items()}
    evaluator, rng = _Evaluator(entry, recorded), np.random.default_rng(7)
    low, high = (np.array([b[i] for b in recorded.bounds.values()]) for i in (0, 1))
    residual = 0.0
    for equation in recorded.equations:
        places = [
            low + (high - low) * rng.uniform(entry.patch * 1.01, 1 - entry.patch * 1.01, len(low))
            for _ in range(10)
        ]
        if entry.exact:  # layers too
            places.extend(np.column_stack(sample(recorded.bounds, 20, 13)))
        found = [evaluator(equation, place, {}) for place in places]
        floor = max(large for _, large in found) * (1e-3 if not entry.exact else 1e-30)
        residual = max(residual, *(abs(value) / max(large, floor, 1e-290) for value, large in found))
    conditions = _condition_defect(entry, recorded, evaluator, sizes)
    second = max(
        (float(np.max(np.abs(f(*points) - values[n]))) / sizes[n] for n, f in entry.second.items()),
        default=0.0,
    )
    if entry.exact:  # the double-precision function against forty digits
        symbols = recorded.coordinates
        for n, e in entry.exact.items():
            f = sp.lambdify(symbols, e, "mpmath")
            with mpmath.workdps(40):
                fine = [float(f(*(mpmath.mpf(float(c[i])) for c in points))) for i in range(0, 600, 15)]
            second = max(second, float(np.max(np.abs(np.array(fine) - values[n][::15]))) / sizes[n])
    for other in entry.also:  # further solutions have to satisfy the same equations
        twin = _Evaluator(replace(entry, exact={}, reference=other), recorded)
        for _ in range(6):
            place = low + (high - low) * rng.uniform(0.1, 0.9, len(low))
            for equation in recorded.equations:
                value, large = twin(equation, place, {})
                if abs(value) > 1e-8 * large:
                    raise AssertionError(f"{entry.name}: the further solution does not satisfy the equation")
    interface = _interface_defect(entry, recorded) if entry.interfaces else 0.0
    if entry.extra is not None:
        interface = max(interface, entry.extra())
    limit = entry.residual_tol if not entry.exact else 1e-12
    ok = (
        residual <= limit
        and conditions <= (1e-12 if entry.exact else 1e-5)
        and second <= (entry.second_tol or entry.accuracy * 3)
    )
    return Check(entry.name, residual, conditions, second, interface, bool(ok and interface < 1e-7))


def verify(names: Sequence[str] | None = None) -> list[Check]:
    """Check the references (all, or those named), print a table, return what was found."""
    checks = []
    print(
        f"{'name':22s} {'residual':>9s} {'condition':>9s} {'second':>9s} {'claimed':>9s} {'interface':>9s}  seconds"
    )
    for entry in PROBLEMS:
        if names and entry.name not in names and entry.group not in names:
            continue
        start = time.perf_counter()
        try:
            check = _check(entry)
        except Exception as error:
            print(f"{entry.name:22s} FAILED {type(error).__name__}: {error}")
            check = Check(entry.name, math.inf, math.inf, math.inf, math.inf, False)
        checks.append(check)
        print(
            f"{check.name:22s} {check.residual:9.1e} {check.conditions:9.1e} {check.second:9.1e} {entry.accuracy:9.0e} "
            f"{check.interface:9.1e}  {time.perf_counter() - start:5.1f} {'' if check.ok else '  <-- look'}",
            flush=True,
        )
    print(f"{sum(c.ok for c in checks)} of {len(checks)} verified")
    return checks


# ------------------------------------------------------------------------------------------------------------
# Measuring the solver
# ------------------------------------------------------------------------------------------------------------


def _measure(entry: Entry, seed: int, time_limit: float) -> dict[str, Any]:
    """Solve one problem in this process and compare with its reference."""
    import pibls

    result: dict[str, Any] = {
        "name": entry.name,
        "group": entry.group,
        "field": entry.field,
        "tags": list(entry.tags),
        "seed": seed,
        "tol": entry.tol,
        "expected": entry.expected,
    }
    try:
        problem = entry.build()
    except pibls.ProblemError as error:
        return {**result, "status": "ProblemError", "converged": False, "message": str(error), "seconds": 0.0}
    start = time.perf_counter()
    try:
        solution = pibls.solve(problem, tol=entry.tol, time_limit=time_limit, seed=seed)
    except pibls.ProblemError as error:
        spent = time.perf_counter() - start
        return {
            **result,
            "status": "ProblemError",
            "converged": False,
            "message": str(error),
            "seconds": spent,
        }
    result["seconds"] = time.perf_counter() - start
    result["status"] = str(solution.status.name)
    result["message"] = str(solution.status.value)
    result["converged"] = bool(solution.converged)
    result["nodes"] = int(solution.nodes)
    result["estimate"] = float(solution.error.max)
    if not entry.reference:
        return result
    recorded = entry.recorded
    points = sample(recorded.bounds, 3000 if len(recorded.bounds) < 3 else 1500, seed + 100)
    unknowns, several = recorded.unknowns, len(recorded.unknowns) > 1
    computed, estimates = {}, {}
    for name, function in unknowns.items():
        part = solution[function] if several else solution
        computed[name] = np.asarray(part(*points), dtype=float)
        estimates[name] = float(getattr(part, "error", solution.error).max)
    best: dict[str, dict[str, float]] | None = None
    for reference in (entry.reference, *entry.also):
        found = {}
        for name in unknowns:
            truth = reference[name](*points)
            size = float(np.max(np.abs(truth)))
            gap = np.abs(computed[name] - truth)
            worst = float(np.max(gap)) if np.all(np.isfinite(gap)) else math.inf
            found[name] = {
                "size": size,
                "error": worst,
                "relative": worst / size,
                "estimate": estimates[name],
            }
        if best is None or max(f["relative"] for f in found.values()) < max(
            f["relative"] for f in best.values()
        ):
            best = found
    assert best is not None
    worst_one = max(best.values(), key=lambda f: f["relative"])
    result["unknowns"] = best
    result["error"] = worst_one["relative"]
    result["ratio"] = worst_one["estimate"] / worst_one["error"] if worst_one["error"] > 0 else math.inf
    result["estimate_below"] = any(
        f["estimate"] < f["error"] and f["relative"] > 2 * entry.accuracy for f in best.values()
    )
    return result


def _alone(name: str, seed: int, time_limit: float) -> dict[str, Any]:
    """Measure one problem in a process of its own, which is ended after three times the limit."""
    entry = next(e for e in PROBLEMS if e.name == name)
    base = {
        "name": name,
        "group": entry.group,
        "field": entry.field,
        "tags": list(entry.tags),
        "seed": seed,
        "tol": entry.tol,
        "expected": entry.expected,
        "converged": False,
    }
    environment = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [
            sys.executable,
            str(Path(__file__).resolve()),
            "one",
            name,
            "--seeds",
            str(seed),
            "--time-limit",
            str(time_limit),
            "--out",
            str(out),
        ]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                env=environment,
                timeout=3 * time_limit + 60,
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {**base, "status": "KILLED", "seconds": time.perf_counter() - start}
        if done.returncode or not out.exists():
            return {
                **base,
                "status": "CRASHED",
                "message": done.stderr[-3000:],
                "seconds": time.perf_counter() - start,
            }
        result: dict[str, Any] = json.loads(out.read_text())
        return result


def _line(result: Mapping[str, Any]) -> str:
    """One line of the table."""
    error = f"{result['error']:9.1e}" if "error" in result else "        -"
    ratio = f"{result['ratio']:9.1e}" if "ratio" in result else "        -"
    marks = []
    if false_converged(result):
        marks.append("FALSE CONVERGED")
    if result.get("estimate_below"):
        marks.append("estimate below error")
    answer = "yes" if result["converged"] else "no"
    return (
        f"{result['name']:22s} {result['seed']:3d} {result['status'][:20]:20s} {answer:4s} {result['tol']:7.0e} "
        f"{error} {ratio} {result['seconds']:7.1f}  {', '.join(marks)}"
    )


def solved(result: Mapping[str, Any]) -> bool:
    """Whether the answer is as good as asked for (or, with no solution, whether none was claimed)."""
    if result["expected"] != "converged":
        return not result["converged"] and result["status"] not in ("CRASHED", "KILLED")
    return bool(result.get("error", math.inf) <= 3 * result["tol"])


def false_converged(result: Mapping[str, Any]) -> bool:
    """Whether convergence was claimed wrongly."""
    if result["expected"] != "converged":
        return bool(result["converged"])
    return bool(result["converged"] and not result.get("error", math.inf) <= 3 * result["tol"])


def run(
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    time_limit: float = 60,
    jobs: int = 1,
    out: str | Path = "results.json",
) -> list[dict[str, Any]]:
    """Solve the problems (all, named ones, or those of a named group), print a table and a summary, save JSON."""
    chosen = [e.name for e in PROBLEMS if not names or e.name in names or e.group in names]
    tasks = [(name, seed) for name in chosen for seed in seeds]
    print(
        f"{'name':22s} {'sd':>3s} {'status':20s} {'conv':4s} {'tol':>7s} {'error':>9s} {'est/true':>9s} seconds"
    )
    results: list[dict[str, Any]] = []
    with ThreadPoolExecutor(jobs) as pool:
        for result in pool.map(lambda task: _alone(task[0], task[1], time_limit), tasks):
            results.append(result)
            print(_line(result), flush=True)
            Path(out).write_text(json.dumps(results, indent=1))
    print()
    for group in (*dict.fromkeys(r["group"] for r in results), None):
        some = [r for r in results if group is None or r["group"] == group]
        print(
            f"{group or 'all':10s} {len(some):3d} problems: solved {sum(map(solved, some)):3d}, "
            f"converged {sum(r['converged'] for r in some):3d}, false converged {sum(map(false_converged, some)):2d}, "
            f"estimate below true error {sum(bool(r.get('estimate_below')) for r in some):2d}, "
            f"crashed or killed {sum(r['status'] in ('CRASHED', 'KILLED') for r in some):2d}, "
            f"{sum(r['seconds'] for r in some):.0f} s"
        )
    return results


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Textbook problems for a differential-equation solver.")
    parser.add_argument("action", choices=["verify", "run", "one", "list"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default="results.json")
    given = parser.parse_args()
    if given.action == "verify":
        sys.exit(0 if all(c.ok for c in verify(given.names)) else 1)
    elif given.action == "run":
        run(given.names, given.seeds, given.time_limit, given.jobs, given.out)
    elif given.action == "one":
        entry = next(e for e in PROBLEMS if e.name == given.names[0])
        Path(given.out).write_text(json.dumps(_measure(entry, given.seeds[0], given.time_limit)))
    else:
        for entry in PROBLEMS:
            print(
                f"{entry.group:10s} {entry.name:22s} {entry.field:20s} {entry.tol:7.0e}  {', '.join(entry.tags)}"
            )


if __name__ == "__main__":
    main()
