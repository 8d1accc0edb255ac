"""[u] = 0, [k ∂ₙu] = 0: materials and sources with jumps on oblique and curved surfaces."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.subdomains.subdomain_problem import SubdomainProblem
from pibls.basis import Mirrored, Waves
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.branches import branch_at
from pibls.problem.interfaces.decomposition import subdomain_decomposition

x, y, z, t = sp.symbols("x y z t")
u = sp.Function("u")(x, y)
R = sp.Rational(1, 2)
SQUARE = pibls.Box({x: (-1, 1), y: (-1, 1)})


def inclusion(inside: int, outside: int, centre: tuple[Any, Any] = (0, 0)) -> tuple[Any, Any, Any]:
    """Return the condition of a disc, the conductivity, and the exact solution in a uniform field."""
    X = x - centre[0]
    square = X**2 + (y - centre[1]) ** 2
    b = sp.Rational(outside - inside, outside + inside)
    condition = square < R**2
    k = sp.Piecewise((inside, condition), (outside, True))
    return condition, k, sp.Piecewise(((1 + b) * X, condition), (X * (1 + b * R**2 / square), True))


def conduction(k: Any, domain: Any = SQUARE, exact: Any = 0, source: Any = 0) -> pibls.Problem:
    return pibls.Problem(domain, [pibls.div(k * pibls.grad(u)) - source], [pibls.Dirichlet(u, exact)])


def check(problem: pibls.Problem, exact: Any, tol: float = 1e-10, **settings: Any) -> pibls.Solution:
    solution = pibls.solve(problem, tol=tol, **settings)
    X = problem.domain.interior(1500, np.random.default_rng(7)).T
    expected = np.broadcast_to(sp.lambdify(problem.coordinates, exact, "numpy")(*X), X[0].shape)
    error = np.abs(solution(*X) - expected).max()
    assert solution.converged
    assert error <= solution.error.max <= tol * np.abs(expected).max()
    return solution


@pytest.mark.parametrize("seed", range(3))
def test_disc_of_another_material(seed: int) -> None:
    _, k, exact = inclusion(400, 1)
    check(conduction(k, exact=exact), exact, seed=seed)


def test_flux_is_continuous_and_derivatives_are_one_sided() -> None:
    _, k, exact = inclusion(1, 9, (sp.Rational(1, 10), sp.Rational(1, 5)))
    solution = check(conduction(k, exact=exact), exact)
    slope = [float(solution.evaluate(u.diff(x), 0.6 + s, 0.2)) for s in (-1e-9, 1e-9)]
    assert slope[0] == pytest.approx(9 * slope[1], rel=1e-6)


def test_oblique_interface_in_several_notations() -> None:
    s = x + y - R
    for k in (1 + 9 * sp.Heaviside(s), sp.Max(1, sp.sign(s) * 10), sp.Piecewise((1, x < R - y), (10, True))):
        exact = sp.Piecewise((s, s < 0), (s / 10, True)) + sp.exp(x - y) * s**2
        smooth = sp.exp(x - y) * s**2
        source = sp.Piecewise((1, s < 0), (10, True)) * (smooth.diff(x, 2) + smooth.diff(y, 2))
        check(conduction(k, exact=exact, source=source), exact)


def test_source_with_a_jump_on_a_circle() -> None:
    square = x**2 + y**2
    exact = sp.Piecewise(((square - R**2) / 4, square < R**2), (R**2 / 4 * sp.log(square / R**2), True))
    equation = u.diff(x, 2) + u.diff(y, 2) - sp.Heaviside(R**2 - square)
    check(pibls.Problem(SQUARE, [equation], [pibls.Dirichlet(u, exact)]), exact)


@pytest.mark.parametrize("radius", [0.01, 0.002])
def test_small_discs_are_subdomains(radius: float) -> None:
    square = (x - 0.3) ** 2 + y**2
    small = square < radius**2
    k = sp.Piecewise((1000, small), (1, True))
    outside = (x - 0.3) * (1 - 999 * radius**2 / (1001 * square))
    problem = conduction(k, exact=outside)
    found = subdomain_decomposition(problem)
    assert found is not None
    assert len(found) == 2
    solution = pibls.solve(problem, tol=1e-6)
    points = 0.3 + radius * np.array([0.5, 1.1, 3.0])
    exact = (points - 0.3) * [2 / 1001, 1 - 999 / 1001 / 1.21, 1 - 999 / 1001 / 9]
    np.testing.assert_allclose(solution(points, 0 * points), exact, atol=1e-6)
    source = sp.Piecewise((1 / radius**2, sp.Or(small, small.subs(x, -x))), (0, True))
    poisson = pibls.Problem(
        pibls.Disk((x, y), (0, 0), 1), [u.diff(x, 2) + u.diff(y, 2) + source], [pibls.Dirichlet(u, 0)]
    )
    p = 0.1 + 0.5j
    green = sum(-np.log(abs((p - c) / (1 - p * c))) / 2 for c in (0.3, -0.3))
    assert pibls.solve(poisson, tol=1e-6)(0.1, 0.5) == pytest.approx(green, abs=1e-6)


@pytest.mark.parametrize("width", [1e-4, 1e-6])
@pytest.mark.parametrize("written", ["square", "absolute"])
def test_source_in_a_short_interval(written: str, width: float) -> None:
    v, offset = sp.Function("v")(x), x - 0.3123
    inside = offset**2 < width**2 if written == "square" else sp.Abs(offset) < width
    source = sp.Piecewise((1 / (2 * width), inside), (0, True))
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [v.diff(x, 2) + source], [pibls.Dirichlet(v, 0)])
    assert pibls.solve(problem, tol=1e-6)(0.6) == pytest.approx(0.3123 * 0.4, rel=1e-6)


def test_ring_around_a_core_and_inclusion_at_the_boundary() -> None:
    ring = pibls.Disk((x, y), (0, 0), 0.6) - pibls.Disk((x, y), (0, 0), 0.3)
    materials = subdomain_decomposition(conduction(sp.Piecewise((50, ring.inside), (1, True))))
    assert materials is not None
    assert len(materials) == 3  # the core and the exterior have the same material, but are separate
    _, k, exact = inclusion(20, 1, (0, 1))
    neumann = pibls.Neumann(u, 0, on=sp.Eq(y, 1))
    problem = pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u))], [pibls.Dirichlet(u, exact), neumann])
    check(problem, exact)


def test_nonlinear_reaction_with_an_inclusion() -> None:
    _, k, exact = inclusion(9, 1)
    problem = pibls.Problem(
        SQUARE, [pibls.div(k * pibls.grad(u)) - u**3 + exact**3], [pibls.Dirichlet(u, exact)]
    )
    check(problem, exact)


def test_heat_equation_with_an_inclusion() -> None:
    v = sp.Function("v")(x, y, t)
    _, k, shape = inclusion(20, 1)
    exact = sp.exp(-t) * shape
    equation = v.diff(t) - pibls.div(k * pibls.grad(v)) + exact
    conditions = [pibls.Dirichlet(v, exact), pibls.Initial(v, shape)]
    check(pibls.Problem(SQUARE.during(t, 0, 0.5), [equation], conditions), exact, tol=1e-6)


def test_ball_of_another_material() -> None:
    w = sp.Function("w")(x, y, z)
    square = x**2 + y**2 + z**2
    amplitude = sp.Rational(1 - 50, 2 + 50)
    exact = sp.Piecewise(
        ((1 + amplitude) * x, square < R**2), (x * (1 + amplitude * R**3 / sp.sqrt(square) ** 3), True)
    )
    k = sp.Piecewise((50, square < R**2), (1, True))
    cube = pibls.Box({x: (-1, 1), y: (-1, 1), z: (-1, 1)})
    problem = pibls.Problem(cube, [pibls.div(k * pibls.grad(w))], [pibls.Dirichlet(w, exact)])
    check(problem, exact, tol=1e-8)


def test_elasticity_with_two_materials() -> None:
    v = sp.Function("v")(x, y)
    square = x**2 + y**2
    inside = square < R**2
    first, second = (sp.Piecewise((a, inside), (b, True)) for a, b in ((10, 1), (20, 2)))
    amplitude = sp.Rational(
        6 - 60, 60 + 4
    )  # 2 (λ + μ) (1 + amplitude) inside, 2 (λ + μ) - 2 μ amplitude outside
    shape = sp.Piecewise((1 + amplitude, inside), (1 + amplitude * R**2 / square, True))
    bulk, shear = first * (u.diff(x) + v.diff(y)), second * (u.diff(y) + v.diff(x))
    equations = [
        pibls.div([bulk + 2 * second * u.diff(x), shear]),
        pibls.div([shear, bulk + 2 * second * v.diff(y)]),
    ]
    conditions = [pibls.Dirichlet(u, x * shape), pibls.Dirichlet(v, y * shape)]
    solution = pibls.solve(pibls.Problem(SQUARE, equations, conditions), tol=1e-9)
    X = SQUARE.interior(500, np.random.default_rng(3)).T
    expected = sp.lambdify((x, y), y * shape, "numpy")(*X)
    assert np.abs(solution[v](*X) - expected).max() <= solution[v].error.max < 1e-9


def test_solution_is_saved_and_loaded(tmp_path: Path) -> None:
    _, k, exact = inclusion(3, 1)
    solution = pibls.solve(conduction(k, exact=exact), tol=1e-6)
    loaded = pibls.load(solution.save(tmp_path / "disc.pibls"))
    X = SQUARE.interior(100, np.random.default_rng(0)).T
    assert np.array_equal(loaded(*X), solution(*X))
    assert loaded.summary() == solution.summary()


def test_subdomains_of_general_shapes() -> None:
    leaf = pibls.Spline((x, y), [(-0.5, 0), (0, -0.3), (0.5, 0), (0, 0.4)])
    for shape in (leaf, pibls.Polygon((x, y), [(0, 0), (0.5, 0.1), (0.2, 0.6)])):
        materials = subdomain_decomposition(conduction(sp.Piecewise((2, shape.inside), (1, True))))
        assert materials is not None
        X = SQUARE.interior(2000, np.random.default_rng(1))
        inner = {int(p) for p in materials.locate(X[shape.contains(X)])}
        outer = {int(p) for p in materials.locate(X[~shape.contains(X)])}
        assert len(inner) == 1 <= len(outer)
        assert not inner & outer
        names = {r.name for r in materials.interface_residuals}
        assert names >= {"flux across the interface", "u across the interface"}


def test_traction_is_continuous_and_pressure_is_not() -> None:
    """Stokes' equations with two viscosities, in flux form."""
    v, p = sp.Function("v")(x, y), sp.Function("p")(x, y)
    mu = sp.Piecewise((5, x**2 + y**2 < R**2), (1, True))
    shear = mu * (u.diff(y) + v.diff(x))
    equations = [
        pibls.div([2 * mu * u.diff(x) - p, shear]),
        pibls.div([shear, 2 * mu * v.diff(y) - p]),
        u.diff(x) + v.diff(y),
    ]
    conditions = [pibls.Dirichlet(u, y), pibls.Dirichlet(v, 0), pibls.Condition(sp.Eq(p, 0), on={x: 1, y: 1})]
    materials = subdomain_decomposition(pibls.Problem(SQUARE, equations, conditions))
    assert materials is not None
    assert not any(r.name.startswith("p ") for r in materials.interface_residuals)
    assert sum("flux" in r.name for r in materials.interface_residuals) == 2
    assert {"u across the interface", "v across the interface"} <= {
        r.name for r in materials.interface_residuals
    }


def test_branch_at_a_point() -> None:
    e = sp.Abs(x - 1) * sp.Piecewise((2, x < 1), (3, True)) + sp.Max(x, 0) + sp.Heaviside(x - 1)
    assert branch_at(e, lambda g: float(g.subs(x, 0.5))) == 2 * (1 - x) + x
    assert branch_at(e, lambda g: float(g.subs(x, 2.0))) == 3 * (x - 1) + x + 1


@pytest.mark.parametrize(("space", "dimension"), [(2, 2), (3, 3), (2, 3)])
def test_derivatives_of_mirrored_features(space: int, dimension: int) -> None:
    box = np.array([[-1.0, 1.0]] * dimension)
    basis = Mirrored(Waves(8, 3.0), (0.1, -0.2, 0.3)[:space], 0.4).draw(box, np.random.default_rng(0))
    X = np.random.default_rng(1).uniform(-1, 1, (40, dimension))
    X = X[((X[:, :space] - basis.centre) ** 2).sum(axis=1) > 0.2]
    step = 1e-5
    for alpha in product(range(3), repeat=dimension):
        if sum(alpha) > 3:
            continue
        for axis in range(dimension):
            more = tuple(n + (i == axis) for i, n in enumerate(alpha))
            e = step * np.eye(dimension)[axis]
            slope = (basis.jets(X + e, [alpha])[0] - basis.jets(X - e, [alpha])[0]) / (2 * step)
            exact = basis.jets(X, [more])[0]
            assert np.abs(slope - exact).max() <= 1e-6 * max(np.abs(exact).max(), 1.0)


def test_laplace_on_a_plate_with_a_hole() -> None:
    exact = x / (x**2 + y**2) + sp.log(x**2 + y**2) + x * y
    plate = SQUARE - pibls.Disk((x, y), (0, 0), 0.4)
    check(pibls.Problem(plate, [u.diff(x, 2) + u.diff(y, 2)], [pibls.Dirichlet(u, exact)]), exact)


def test_unsupported_interfaces_are_rejected() -> None:
    _, k, _ = inclusion(2, 1)
    flux = pibls.div(k * pibls.grad(u))
    time_dependent = sp.Function("u")(x, y, t)
    moving = sp.Piecewise((2, x**2 + y**2 < (1 + t) / 4), (1, True))
    with pytest.raises(pibls.ProblemError, match="on a moving surface"):
        pibls.solve(
            pibls.Problem(
                SQUARE.during(t, 0, 1),
                [sp.Eq(time_dependent.diff(t), pibls.div(moving * pibls.grad(time_dependent)))],
                [pibls.Initial(time_dependent, 0), pibls.Condition(sp.Eq(pibls.integral(time_dependent), 0))],
            )
        )
    with pytest.raises(pibls.ProblemError, match="no DiracDelta together with jumps"):
        pibls.solve(pibls.Problem(SQUARE, [flux - sp.DiracDelta(x)], [pibls.Dirichlet(u, 0)]))
    steps = sp.floor(3 * (x + y)) + 10
    with pytest.raises(pibls.ProblemError, match="not supported yet: smooth the jump"):
        pibls.solve(conduction(steps))
    a = sp.Symbol("a")
    radius_parameter = sp.Piecewise((2, x**2 + y**2 < a**2), (1, True))
    problem = pibls.Problem(
        SQUARE,
        [pibls.div(radius_parameter * pibls.grad(u)) - 1],
        [pibls.Dirichlet(u, 0)],
        parameters={a: 0.5},
    )
    with pytest.raises(pibls.ProblemError, match="got a, which moves a jump"):
        pibls.solve(problem, tol=1e-4).sensitivity(a)
    with pytest.raises(pibls.ProblemError, match="got a, which moves a jump"):
        pibls.fit(problem, pibls.Data(u, {x: [0.0, 0.1], y: [0.0, 0.1]}, [0.0, 0.1]), {a: (0.2, 0.8)})
    grid = sp.Piecewise((2, sp.sin(80 * (x + y)) > 0), (1, True))
    with pytest.raises(pibls.ProblemError, match="at most 40 subdomains"):
        pibls.solve(conduction(grid))


def test_sensitivity_and_fit_of_an_inclusion() -> None:
    """∂u/∂k of a disc in a uniform field, and k from noisy values of u."""
    k = sp.Symbol("k")
    disc = pibls.Disk((x, y), (0, 0), 0.5)
    outside = x * (1 + (1 - k) / (1 + k) / 4 / (x**2 + y**2))
    conductivity = sp.Piecewise((k, disc.inside), (1, True))
    problem = pibls.Problem(
        SQUARE, [pibls.div(conductivity * pibls.grad(u))], [pibls.Dirichlet(u, outside)], parameters={k: 5.0}
    )
    exact = sp.lambdify((x, y, k), sp.Piecewise((2 * x / (k + 1), x**2 + y**2 < 0.25), (outside, True)))
    slope = sp.lambdify(
        (x, y), sp.Piecewise((-2 * x / 36, x**2 + y**2 < 0.25), (outside.diff(k).subs(k, 5), True))
    )
    solution = pibls.solve(problem, tol=1e-8)
    found = solution.sensitivity(k)
    X = SQUARE.interior(300, np.random.default_rng(0)).T
    true = np.abs(found(*X) - slope(*X)).max()
    assert found.converged
    assert true <= min(found.error.max, 1e-9)
    P = X[:, :40]
    noise = 1e-3 * np.random.default_rng(1).standard_normal(40)
    fitted = pibls.fit(
        problem, pibls.Data(u, {x: P[0], y: P[1]}, exact(*P, 3.0) + noise, sigma=1e-3), {k: (1, 20)}, tol=1e-6
    )
    assert abs(fitted.values[k] - 3.0) < 4 * fitted.std[k] < 0.1


@pytest.mark.parametrize("where", ["all", "disc", "line", "side"])
def test_integral_condition_over_materials(where: str) -> None:
    """Neumann conditions leave a constant undetermined; an integral determines it."""
    _, k, exact = inclusion(20, 1)
    outside = exact.args[-1].expr
    sides = [pibls.Neumann(u, sign * outside.diff(c), on=sp.Eq(c, sign)) for c in (x, y) for sign in (-1, 1)]
    disc = pibls.Disk((x, y), (0, 0), 0.5)
    total, over = {
        "all": (sp.Integer(12), None),
        "disc": (3 * sp.pi / 4, disc),
        "line": (sp.Integer(6), sp.Eq(x, 0)),
        "side": (sp.Integer(24), SQUARE.boundary),
    }[where]
    mean = pibls.Condition(sp.Eq(pibls.integral(u, over=over), total))
    problem = pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u))], [*sides, mean])
    check(problem, exact + 3)


def test_integral_along_an_interface_is_rejected() -> None:
    _, k, _ = inclusion(20, 1)
    along = pibls.Condition(sp.Eq(pibls.integral(u, over=sp.Eq(x**2 + y**2, sp.Rational(1, 4))), 1))
    problem = pibls.Problem(SQUARE, [pibls.div(k * pibls.grad(u))], [pibls.Neumann(u, 0), along])
    with pytest.raises(pibls.ProblemError, match="along a surface on which coefficients or sources jump"):
        pibls.solve(problem)


def test_discs_of_other_material_have_singular_functions() -> None:
    # Two close discs with conductivity 100 : 1, with singular functions around and inside each.
    discs = [pibls.Disk((x, y), (-0.35, 0.0), 0.3), pibls.Disk((x, y), (0.32, 0.1), 0.3)]
    k = sp.Piecewise(*((100, d.inside) for d in discs), (1, True))
    square = pibls.Box({x: (-1, 1), y: (-1, 1)})
    problem = pibls.Problem(square, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    context = SubdomainProblem(compile_problem(problem), subdomain_decomposition(problem))  # type: ignore[arg-type]
    known = context.family.hole_functions
    assert [len(k.holes) for k in known].count(2) == 1
    assert sum(k.outer_decay > 0 for k in known) == 2
    assert not any(context.family.cavities)
    solution = pibls.solve(problem, tol=1e-9)
    assert solution.converged


def test_variable_material_uses_mirrored_features() -> None:
    disc = pibls.Disk((x, y), (0.1, 0.0), 0.4)
    k = sp.Piecewise((10, disc.inside), (1 + x**2, True))
    square = pibls.Box({x: (-1, 1), y: (-1, 1)})
    problem = pibls.Problem(square, [sp.Eq(-pibls.div(k * pibls.grad(u)), 1)], [pibls.Dirichlet(u, 0)])
    family = SubdomainProblem(compile_problem(problem), subdomain_decomposition(problem)).family  # type: ignore[arg-type]
    assert any(family.cavities)
    assert not any(k.holes for k in family.hole_functions)
