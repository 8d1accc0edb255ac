"""J(w) against finite differences of r(w), for random nonlinear systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import pibls
from pibls.arrays import Array
from pibls.assembly.points import PointSet, place
from pibls.assembly.scaled_residuals import residuals_at
from pibls.assembly.system import System, assemble
from pibls.basis import Basis, BasisSpec
from pibls.geometry import box_of
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, compile_problem
from pibls.spaces import SingleDomainSpace

x, y, t = sp.symbols("x y t")
POINT_COUNTS = pibls.Points(8, 9, 4)
BASES: tuple[BasisSpec, ...] = (
    pibls.Broad(2, 2, 1, 2, scale=1.0),
    pibls.Features(5, scale=1.5),
    pibls.Broad(1, 3, 1, 2, scale=0.8, activation="sin", enhancement_activation="gaussian"),
)


@dataclass(frozen=True)
class AssembledProblem:
    """A problem with its points, basis, space and system."""

    problem: pibls.Problem
    compiled: CompiledProblem
    points: dict[Region, PointSet]
    basis: Basis
    space: SingleDomainSpace
    system: System


def build(problem: pibls.Problem, spec: BasisSpec, seed: int = 0) -> AssembledProblem:
    """Compile, place points, draw the basis and assemble, as `solve` does."""
    compiled = compile_problem(problem)
    points = place(compiled, problem.domain, POINT_COUNTS, np.random.default_rng(seed))
    basis = spec.draw(box_of(problem.domain), np.random.default_rng(seed + 1))
    space = SingleDomainSpace.shared(basis, compiled.unknowns)
    return AssembledProblem(problem, compiled, points, basis, space, assemble(compiled, points, space))


def differences(f: Callable[[Array], Array], w: Array, h: float = 1e-3) -> Array:
    """∂f/∂w by central differences of fourth order."""
    columns = []
    for e in np.eye(len(w)):
        near, far = f(w + h * e) - f(w - h * e), f(w + 2 * h * e) - f(w - 2 * h * e)
        columns.append((8 * near - far) / (12 * h))
    return np.column_stack(columns)


def conductivity(x: Array, *_: Array) -> Array:
    return np.asarray(1.0 + x**2)


FUNCTIONS: tuple[Callable[[Any], Any], ...] = (
    lambda j: j,
    lambda j: j**2,
    lambda j: j**3,
    sp.sin,
    sp.cos,
    sp.tanh,
    lambda j: sp.exp(j / 4),
    lambda j: sp.sqrt(1 + j**2),
    lambda j: 1 / (2 + sp.sin(j)),
)


@st.composite
def problems(draw: st.DrawFn, linear: bool = False) -> pibls.Problem:
    """1 to 3 unknowns in 1 or 2 dimensions; terms are products of functions of derivatives."""
    domain: Any = draw(
        st.sampled_from(
            [
                pibls.Interval(x, 0, 1),
                pibls.Interval(x, -1, 1).during(t, 0, 1),
                pibls.Box({x: (0, 1), y: (-1, 1)}),
            ]
        )
    )
    coordinates = domain.coordinates
    unknowns = [sp.Function(name)(*coordinates) for name in "uvw"[: draw(st.integers(1, 3))]]
    numbers = st.sampled_from([sp.Rational(k, 2) for k in (-3, -2, -1, 1, 2, 3)])
    values = [*coordinates, sp.sin(x), sp.exp(-x), 1 + x * coordinates[-1], sp.Abs(x)]

    def coefficient() -> Any:
        kind = draw(st.sampled_from(["number", "expression", "python"]))
        if kind == "number":
            return draw(numbers)
        return (
            draw(st.sampled_from(values)) if kind == "expression" else pibls.known(conductivity, *coordinates)
        )

    def derivative(boundary: bool = False) -> Any:
        u = draw(st.sampled_from(unknowns))
        if boundary and draw(st.booleans()):
            return pibls.dn(u)
        for c in draw(st.lists(st.sampled_from(coordinates), max_size=1 if boundary else 2)):
            u = u.diff(c)
        return u

    def term(boundary: bool = False) -> Any:
        if linear:
            return coefficient() * derivative(boundary)
        factors = [
            draw(st.sampled_from(FUNCTIONS))(derivative(boundary)) for _ in range(draw(st.integers(1, 3)))
        ]
        return coefficient() * sp.prod(factors)

    def terms(boundary: bool = False) -> Any:
        return sum(term(boundary) for _ in range(draw(st.integers(1, 3)))) + coefficient()

    equations = [u.diff(x, 2) + draw(numbers) * u + terms() for u in unknowns]
    conditions: list[Any] = [pibls.Dirichlet(u, x) for u in unknowns]
    conditions.append(pibls.Condition(unknowns[0] + terms(boundary=True), on=sp.Eq(x, 1)))
    if domain.coordinates[-1] == t:
        conditions.append(pibls.Initial(unknowns[-1], sp.cos(x)))
    if len(unknowns) == 1:
        conditions.append(
            pibls.Condition(2 * unknowns[0] + terms(boundary=True), on=sp.Eq(x, domain.bounds[0][0]))
        )
        del conditions[0]
    try:
        return pibls.Problem(domain, equations, conditions)
    except pibls.ProblemError as problem:
        # Drawn terms may cancel the unknown, as in u - u: rightly rejected, and nothing to test.
        assume("unknown" not in str(problem))
        raise


def coefficients(built: AssembledProblem, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(-0.6, 0.6, built.system.shape[1])


# No shrinking, which takes minutes here.
at_random = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@at_random
@given(problem=problems(), spec=st.sampled_from(BASES), seed=st.integers(0, 99))
def test_jacobian_of_a_nonlinear_system(problem: pibls.Problem, spec: BasisSpec, seed: int) -> None:
    """Each row to a relative accuracy of 1e-7; the Jacobian depends on w."""
    assume(not problem.is_linear)
    built = build(problem, spec, seed)
    w = coefficients(built, seed)
    J = built.system.jacobian(w)
    D = differences(built.system.residual, w)
    assert J.shape == built.system.shape == D.shape
    size = np.abs(D).max(axis=1, keepdims=True) + 1e-3 * np.abs(built.system.residual(w))[:, None]
    error = np.abs(J - D)
    assert (error <= 1e-7 * (size + 1e-3)).all(), f"{(error / size).max():.1e} in {problem.equations}"
    assert np.abs(built.system.jacobian(2 * w) - J).max() > 1e-6
    # Linearized about itself, the system is its own tangent: J w - b = r(w).
    tangent, b = built.system.linearize(built.system.values(w))
    np.testing.assert_array_equal(tangent, J)
    np.testing.assert_allclose(J @ w - b, built.system.residual(w), rtol=1e-10, atol=1e-10)


@at_random
@given(problem=problems(), spec=st.sampled_from(BASES), seed=st.integers(0, 99))
def test_residuals_without_a_matrix(problem: pibls.Problem, spec: BasisSpec, seed: int) -> None:
    """`residuals_at` and `System.residual` agree at the same points."""
    built = build(problem, spec, seed)
    w = coefficients(built, seed)
    named = residuals_at(built.compiled, built.points, built.space, w, box_of(problem.domain))[0]
    assert list(named) == [block.name for block in built.system.blocks]
    r = built.system.residual(w)
    for block in built.system.blocks:
        found = named[block.name]
        np.testing.assert_allclose(found.values, r[block.rows], rtol=1e-11, atol=1e-11)
        # A sum is at most its number of terms times the largest term.
        terms = len(block.residual.linear) + 1
        assert (np.abs(found.values) <= terms * found.term_sizes * (1 + 1e-12)).all()


@settings(at_random, max_examples=30)
@given(problem=problems(linear=True), spec=st.sampled_from(BASES), seed=st.integers(0, 99))
def test_residual_of_a_linear_system_is_affine(problem: pibls.Problem, spec: BasisSpec, seed: int) -> None:
    """r(w) = J w + r(0), with one J for all w."""
    assert problem.is_linear
    built = build(problem, spec, seed)
    system = built.system
    assert system.is_linear
    v, w = coefficients(built, seed), coefficients(built, seed + 1)
    J = system.jacobian(w)
    np.testing.assert_array_equal(system.jacobian(v), J)
    np.testing.assert_array_equal(system.jacobian(np.zeros_like(w)), J)
    np.testing.assert_allclose(J, differences(system.residual, w), rtol=1e-9, atol=1e-9)
    r0 = system.residual(np.zeros_like(w))
    np.testing.assert_allclose(system.residual(w), J @ w + r0, rtol=1e-12, atol=1e-12)
    mixed = system.residual(0.3 * v + 0.7 * w)
    affine = 0.3 * system.residual(v) + 0.7 * system.residual(w)
    np.testing.assert_allclose(mixed, affine, rtol=1e-12, atol=1e-12)


def burgers() -> pibls.Problem:
    u = sp.Function("u")(x, t)
    return pibls.Problem(
        pibls.Interval(x, -1, 1).during(t, 0, 2),
        [u.diff(t) + u * u.diff(x) - u.diff(x, 2) / 10],
        [pibls.Periodic(u, x), pibls.Initial(u, sp.sin(sp.pi * x))],
    )


def test_jacobian_of_burgers_by_hand() -> None:
    """J = Φ_t + diag(u) Φ_x + diag(u_x) Φ - ν Φ_xx inside; Φ(1) - Φ(-1) and its x-derivative at the ends."""
    built = build(burgers(), BASES[0])
    w = coefficients(built, 3)
    J = built.system.jacobian(w)
    inside, periodic, slope, start = built.system.blocks
    X = inside.points.sites[0]
    phi, phi_x, phi_t, phi_xx = built.basis.jets(X, [(0, 0), (1, 0), (0, 1), (2, 0)])
    expected = phi_t + (phi @ w)[:, None] * phi_x + (phi_x @ w)[:, None] * phi - 0.1 * phi_xx
    np.testing.assert_allclose(J[inside.rows], expected, rtol=1e-12, atol=1e-13)
    left, right = (built.basis.jets(S, [(0, 0), (1, 0)]) for S in periodic.points.sites)
    assert [S[0, 0] for S in periodic.points.sites] == [-1.0, 1.0]
    np.testing.assert_allclose(J[periodic.rows], right[0] - left[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(J[slope.rows], right[1] - left[1], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(J[start.rows], built.basis.jets(start.points.sites[0], [(0, 0)])[0])


def test_burgers_linearized_about_a_constant() -> None:
    """About u = 2 it is advection with speed 2: Φ_t + 2 Φ_x - ν Φ_xx with zero right-hand side."""
    built = build(burgers(), BASES[0])
    J, b = built.system.linearize(built.system.values_of_constant(2.0))
    inside = built.system.blocks[0]
    phi_x, phi_t, phi_xx = built.basis.jets(inside.points.sites[0], [(1, 0), (0, 1), (2, 0)])
    np.testing.assert_allclose(J[inside.rows], phi_t + 2 * phi_x - 0.1 * phi_xx, rtol=1e-12, atol=1e-13)
    assert np.abs(b[inside.rows]).max() == 0.0


def test_only_nonlinear_rows_change_with_w() -> None:
    built = build(burgers(), BASES[1])
    change = np.abs(
        built.system.jacobian(coefficients(built, 0)) - built.system.jacobian(coefficients(built, 1))
    )
    inside, *linear = built.system.blocks
    assert change[inside.rows].max() > 1e-2
    for block in linear:
        assert change[block.rows].max() == 0.0


def test_nonlinear_condition_with_a_linear_equation() -> None:
    """∂u/∂n + u⁴ = 1 (radiation) at both ends: the outward normal is -1 on the left and +1 on the right."""
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 2), [u.diff(x, 2) + u], [pibls.Condition(sp.Eq(pibls.dn(u) + u**4, 1))]
    )
    assert not problem.is_linear
    built = build(problem, BASES[0])
    w = coefficients(built, 1)
    end = built.system.blocks[1]
    X = end.points.sites[0]
    phi, phi_x = built.basis.jets(X, [(0,), (1,)])
    normal = np.where(X == 0.0, -1.0, 1.0)
    assert set(np.unique(X)) == {0.0, 2.0}
    r, J = built.system.residual(w), built.system.jacobian(w)
    np.testing.assert_allclose(r[end.rows], normal[:, 0] * (phi_x @ w) + (phi @ w) ** 4 - 1, rtol=1e-12)
    expected = normal * phi_x + 4 * (phi @ w)[:, None] ** 3 * phi
    np.testing.assert_allclose(J[end.rows], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("spec", BASES, ids=str)
def test_assembly_in_slices_equals_assembly_at_once(spec: BasisSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """Assembled 16 rows at a time or all at once: the same system."""
    points = pibls.Points(75, 40, 21)
    problem = burgers()
    compiled = compile_problem(problem)
    placed = place(compiled, problem.domain, points, np.random.default_rng(0))
    box = box_of(problem.domain)
    space = SingleDomainSpace.shared(spec.draw(box, np.random.default_rng(0)), 1)
    w = np.random.default_rng(1).uniform(-0.5, 0.5, spec.size)
    at_once = assemble(compiled, placed, space)
    plain = residuals_at(compiled, placed, space, w, box)[0]
    for module in ("pibls.assembly.system", "pibls.spaces.single_domain"):
        monkeypatch.setattr(f"{module}.SLICE_ENTRIES", 1)
    sliced = assemble(compiled, placed, space)
    np.testing.assert_allclose(sliced.jacobian(w), at_once.jacobian(w), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(sliced.residual(w), at_once.residual(w), rtol=1e-12, atol=1e-13)
    for name, found in residuals_at(compiled, placed, space, w, box)[0].items():
        np.testing.assert_allclose(found.values, plain[name].values, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found.term_sizes, plain[name].term_sizes, rtol=1e-12)
