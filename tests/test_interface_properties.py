"""Random systems on two or three layers against matrix exponentials: only fluxes are continuous.

Any coefficient may jump. Each equation (Σ aₖuₖ' + bₖuₖ)' + Σ cₖuₖ' + dₖuₖ = f is written in one of several
spellings: with one outer derivative, with one for each term, with `div`, or with its flux as another unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import pibls
from pibls import Condition, Dirichlet, Interval, Problem, div
from pibls.arrays import Array
from tests.layered_solutions import LayeredSolution
from tests.test_interface_coupling import check

x = sp.Symbol("x")
X = np.linspace(0, 1, 41)
SPELLINGS = ("one derivative", "derivative of each term", "div", "flux as unknown")
TOL = 1e-9


@dataclass(frozen=True)
class Layers:
    """Interfaces between layers, and coefficients that are constant in each layer."""

    interfaces: tuple[Any, ...]

    def coefficient(self, values: tuple[int, ...]) -> Any:
        """Return the coefficient ``values[i] / 2`` in layer i."""
        each = [sp.Rational(v, 2) for v in values]
        if len(set(each)) == 1:
            return each[0]
        branches = [(v, x < p) for v, p in zip(each, self.interfaces, strict=False)]
        return sp.Piecewise(*branches, (each[-1], True))

    @property
    def ends(self) -> tuple[float, ...]:
        return (*(float(p) for p in self.interfaces), 1.0)


@st.composite
def layered(draw: Any) -> Layers:
    tenths = draw(st.lists(st.integers(2, 8), min_size=1, max_size=2, unique=True))
    return Layers(tuple(sp.Rational(n, 10) for n in sorted(tenths)))


@st.composite
def coefficients(draw: Any, low: int, high: int, layers: int) -> tuple[int, ...]:
    """The same in all layers, or one for each."""
    if draw(st.booleans()):
        return (draw(st.integers(low, high)),) * layers
    return tuple(draw(st.integers(low, high)) for _ in range(layers))


def _matrix(
    draw: Any, n: int, layers: int, diagonal: tuple[int, int], other: tuple[int, int]
) -> list[list[Any]]:
    ranges = [[diagonal if i == k else other for k in range(n)] for i in range(n)]
    return [[draw(coefficients(low, high, layers)) for low, high in row] for row in ranges]


@dataclass(frozen=True)
class System:
    """The coefficients a, b under the outer derivatives, and c, d outside of them, in halves."""

    layers: Layers
    a: list[list[Any]]
    b: list[list[Any]]
    c: list[list[Any]]
    d: list[list[Any]]
    f: list[Any]
    spellings: list[str]

    def exact(self) -> Array:
        """Return u and the fluxes at X."""
        n, layer_data = len(self.f), []
        for p, end in enumerate(self.layers.ends):
            a, b, c, d = (
                np.array([[v[p] / 2 for v in row] for row in m]) for m in (self.a, self.b, self.c, self.d)
            )
            f = np.array([v[p] / 2 for v in self.f])
            inverse = np.linalg.inv(a)
            A = np.block([[-inverse @ b, inverse], [c @ inverse @ b - d, -c @ inverse]])
            layer_data.append((end, A, np.concatenate([np.zeros(n), f])))
        fixed = dict.fromkeys(range(n), 0.0)
        return LayeredSolution.solve(layer_data, fixed, fixed)(X)

    def problem(self) -> tuple[Problem, list[Any]]:
        """Return the problem and the unknowns u."""
        n = len(self.f)
        us = [sp.Function(f"u{k}")(x) for k in range(n)]
        equations = []
        for i, spelling in enumerate(self.spellings):
            a, b, c, d = (
                [self.layers.coefficient(v) for v in m[i]] for m in (self.a, self.b, self.c, self.d)
            )
            terms = [e for k, u in enumerate(us) for e in (a[k] * u.diff(x), b[k] * u) if e != 0]
            outside = sum(c[k] * u.diff(x) + d[k] * u for k, u in enumerate(us))
            if spelling == "flux as unknown":
                q = sp.Function(f"q{i}")(x)
                equations += [sp.Add(*terms) - q]
                flux = q.diff(x)
            elif spelling == "div":
                flux = div([sp.Add(*terms)])
            elif spelling == "one derivative":
                flux = sp.Derivative(sp.Add(*terms), x)
            else:
                flux = sp.Add(*(sp.Derivative(e, x) for e in terms))
            equations.append(sp.Eq(flux + outside, self.layers.coefficient(self.f[i])))
        return Problem(Interval(x, 0, 1), equations, [Dirichlet(u, 0) for u in us]), us


@st.composite
def systems(draw: Any) -> System:
    layers = draw(layered())
    count, n = len(layers.interfaces) + 1, draw(st.integers(1, 3))
    return System(
        layers,
        _matrix(draw, n, count, (2, 10), (-2, 2)),
        _matrix(draw, n, count, (-2, 2), (-2, 2)),
        _matrix(draw, n, count, (-4, 4), (-4, 4)),
        _matrix(draw, n, count, (-4, 0), (-3, 3)),
        [draw(coefficients(-6, 6, count)) for _ in range(n)],
        [draw(st.sampled_from(SPELLINGS)) for _ in range(n)],
    )


def _is_moderate(exact: Array, n: int) -> bool:
    """Return whether the solution is not negligible and the problem not nearly singular."""
    return bool(np.abs(exact).max() < 20 and np.abs(exact[:n]).max(axis=1).min() > 1e-3)


def _system_is_solved(system: System, exact: Array) -> None:
    problem, us = system.problem()
    check(pibls.solve(problem, tol=TOL), {u: exact[k] for k, u in enumerate(us)}, (X,), TOL)


@st.composite
def beams(draw: Any) -> tuple[Layers, dict[str, tuple[int, ...]]]:
    layers = draw(layered())
    ranges = {"EI": (2, 10), "α": (-4, 4), "N": (-6, 6), "c": (-4, 4), "e": (-4, 4), "d": (0, 8), "q": (1, 6),
              "k": (2, 10), "g": (-4, 4), "r": (1, 6)}  # fmt: skip
    count = len(layers.interfaces) + 1
    return layers, {name: draw(coefficients(*pair, count)) for name, pair in ranges.items()}


def _beam_is_solved(beam: tuple[Layers, dict[str, tuple[int, ...]]]) -> None:
    """(EI w'' + α T)'' + (N w')' + c w'' + e T' + d w = q, (k T')' + g w' - T = -r: a bimetal strip."""
    layers, values = beam
    layer_data = []
    for p, end in enumerate(layers.ends):
        EI, alpha, N, c, e, d, q, k, g, r = (v[p] / 2 for v in values.values())
        A = np.zeros((6, 6))  # w, w', M = EI w'' + α T, M' + N w', T, k T'
        A[0, 1] = 1.0
        A[1, 2], A[1, 4] = 1 / EI, -alpha / EI
        A[2, 3], A[2, 1] = 1.0, -N
        A[3] = -c * A[1]
        A[3, 5] -= e / k
        A[3, 0] -= d
        A[4, 5] = 1 / k
        A[5, 4], A[5, 1] = 1.0, -g
        layer_data.append((end, A, np.array([0, 0, 0, q, 0, -r])))
    fixed = {0: 0.0, 1: 0.0, 4: 0.0}
    exact = LayeredSolution.solve(layer_data, fixed, fixed)(X)
    assume(np.abs(exact[0]).max() > 1e-4 and np.abs(exact).max() < 50)
    w, T = sp.Function("w")(x), sp.Function("T")(x)
    EI, alpha, N, c, e, d, q, k, g, r = (layers.coefficient(v) for v in values.values())
    moment = EI * w.diff(x, 2) + alpha * T
    equations = [
        sp.Eq(
            sp.Derivative(moment, (x, 2))
            + sp.Derivative(N * w.diff(x), x)
            + c * w.diff(x, 2)
            + e * T.diff(x)
            + d * w,
            q,
        ),
        sp.Eq(sp.Derivative(k * T.diff(x), x) + g * w.diff(x) - T, -r),
    ]
    ends = [Condition(sp.Eq(v, 0), on=sp.Eq(x, at)) for v in (w, w.diff(x), T) for at in (0, 1)]
    solution = pibls.solve(Problem(Interval(x, 0, 1), equations, ends), tol=TOL)
    check(solution, {w: exact[0], T: exact[4]}, (X,), TOL)


def _cases(count: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=checks
    )


@given(systems())
@_cases(6)
def test_systems(system: System) -> None:
    exact = system.exact()
    assume(_is_moderate(exact, len(system.f)))
    _system_is_solved(system, exact)


@given(beams())
@_cases(4)
def test_beams(beam: tuple[Layers, dict[str, tuple[int, ...]]]) -> None:
    _beam_is_solved(beam)


@given(systems())
@_cases(300)
def test_many_systems(system: System) -> None:
    exact = system.exact()
    assume(_is_moderate(exact, len(system.f)))
    _system_is_solved(system, exact)


@given(beams())
@_cases(150)
def test_many_beams(beam: tuple[Layers, dict[str, tuple[int, ...]]]) -> None:
    _beam_is_solved(beam)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings_give_the_same_solution(spelling: str) -> None:
    steps = [[(4, 10), (1, -2)], [(0, 1), (3, 8)]]
    system = System(
        Layers((sp.Rational(2, 5),)),
        steps,
        [[(1, -1), (2, 0)], [(0, 2), (1, 1)]],
        [[(2, -3), (4, -1)], [(-2, 2), (0, 3)]],
        [[(-2, 0), (1, 2)], [(3, 1), (0, -4)]],
        [(2, 5), (-3, 1)],
        [spelling, spelling],
    )
    _system_is_solved(system, system.exact())
