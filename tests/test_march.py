"""Following a nonlinear evolution from its start: which problems, and over which times."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.basis import Waves
from pibls.problem.lowering import lower
from pibls.search.attempt import Bench
from pibls.search.march import Frozen, is_evolution, march, shortened

x, t = sp.symbols("x t")
u, v = sp.Function("u")(x, t), sp.Function("v")(t)
LINE = pibls.Interval(t, 0, 2)
ROD = pibls.Interval(x, 0, 1).during(t, 1, 3)
GROWTH = v.diff(t) - v * (1 - v)
HEAT = u.diff(t) - u.diff(x, 2) + u**3


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, 1)]), True),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 0))]), True),
        (pibls.Problem(LINE, [GROWTH], [pibls.Dirichlet(v, 1, on=sp.Eq(t, 2))]), False),
        (pibls.Problem(LINE, [v.diff(t, 2) - sp.sin(v)], [pibls.Dirichlet(v, 1)]), False),
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))]), True),
        (pibls.Problem(ROD, [HEAT], [pibls.Periodic(u, x), pibls.Initial(u, 1)]), True),
        (pibls.Problem(ROD, [HEAT], [pibls.Dirichlet(u, 0), pibls.Dirichlet(u, 0, on=sp.Eq(t, 3))]), False),
        (
            pibls.Problem(
                pibls.Box({x: (0, 1), t: (0, 1)}), [HEAT], [pibls.Dirichlet(u, 0, on=sp.Or(t < 1, x < 1))]
            ),
            False,  # a box has no time
        ),
    ],
)
def test_what_can_be_followed(problem: pibls.Problem, expected: bool) -> None:
    assert is_evolution(lower(problem), problem.domain) is expected


def test_shorter_times() -> None:
    assert shortened(LINE, 0.25) == pibls.Interval(t, 0, 0.5)
    assert shortened(ROD, 0.25) == pibls.Interval(x, 0, 1).during(t, 1, 1.5)


def test_a_frozen_function_stays() -> None:
    basis = Waves(20, 3.0).draw(np.array([[0.0, 1.0], [0.0, 0.5]]), np.random.default_rng(0))
    X = np.array([[0.3, 0.2], [0.3, 0.5], [0.3, 0.9]])
    alphas = [(0, 0), (1, 0), (0, 1), (1, 1)]
    values, slopes, rates, both = Frozen(basis, 0.5).jets(X, alphas)
    plain = basis.jets(X, alphas)
    for mine, theirs in zip((values, slopes, rates, both), plain, strict=True):
        np.testing.assert_array_equal(mine[:2], theirs[:2])
    np.testing.assert_array_equal(values[2], values[1])
    np.testing.assert_array_equal(slopes[2], slopes[1])
    assert not rates[2].any()
    assert not both[2].any()


def test_it_ends_at_the_end_or_not_at_all() -> None:
    problem = pibls.Problem(LINE, [GROWTH], [pibls.Initial(v, sp.Rational(1, 10))])
    bench = Bench.of(lower(problem), problem.domain, 0, 1e-6)
    found = march(bench, Waves(32, 11.7), 1, lambda: False)
    assert found is not None
    exact = 1 / (1 + 9 * np.exp(-bench.check[:, 0]))
    np.testing.assert_allclose(found.values[0], exact, atol=1e-9)
    assert march(bench, Waves(32, 11.7), 1, lambda: True) is None
    explosive = pibls.Problem(LINE, [v.diff(t) - v**2], [pibls.Initial(v, 1)])
    bench = Bench.of(lower(explosive), explosive.domain, 0, 1e-6)
    assert march(bench, Waves(32, 11.7), 1, lambda: False) is None
