r"""TFC: u = g + Σ φᵢ(x) (κᵢ - 𝒞ᵢ[g]) satisfies the conditions for any free function g = Σ ξⱼ hⱼ.

The constrained expression is built from univariate ones, one coordinate after the other; ξ is the
least-squares solution of the differential equation, linear (LS) or by Gauss-Newton (NLLS).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from benchmarks.peers.adapter import Outcome, Setting, Task, absent
from pibls.cases.case import Case
from pibls.geometry import box_of, time_of
from pibls.problem import Problem
from pibls.problem.forms.form import Form
from pibls.problem.regions.selection import BoundaryPart, PeriodicFaces, Slice

# Degree of the expansion (total degree in 2D) and points per coordinate, increasing; last: the table.
_SIZES: dict[str, list[tuple[int, int]]] = {
    "TC-1": [(16, 32), (22, 44), (28, 56), (34, 68)],
    "TC-2": [(10, 20), (14, 28), (18, 36), (20, 40)],
    "TC-3": [(8, 16), (12, 24), (16, 32), (18, 36)],
    "TC-4": [(12, 18), (18, 24), (24, 30), (28, 34)],
    "TC-5": [(10, 16), (16, 22), (22, 28), (26, 32)],
    "TC-6": [(8, 14), (12, 18), (16, 22), (20, 26)],
    "TC-7": [(8, 14), (12, 18), (16, 22), (22, 28)],
    "TC-8": [(12, 18), (18, 24), (24, 30), (28, 34)],
    "TC-9": [(100, 130), (115, 150), (130, 170), (160, 200)],
    "TC-10": [(8, 16), (10, 20), (12, 24), (18, 36)],
    "TC-11": [(10, 16), (14, 20), (18, 24), (22, 28)],
}

_TOLERANCE, _ROUNDS = 1e-12, 30

Expression = Callable[..., Any]
"""Function u(ξ, x₁, …, x_d) of jax arrays."""


class TFC:
    """The theory of functional connections with orthogonal polynomials, through utfc and mtfc."""

    name = "tfc"
    title = "TFC"
    packages = ("tfc", "jax")
    install = "pip install tfc"
    fairness = (
        "All conditions are in the constrained expression; Legendre polynomials on TC-2 and Chebyshev ones "
        "elsewhere, as was best; its Chebyshev nodes; its LsClass and NllsClass with the SVD "
        "(method='lstsq'), compiled by jax in double precision, NLLS from zero. The table's degree is the "
        "one after which rounding takes over, found with the true error, in its favour. Compilation is shown "
        "apart, though whoever solves only once waits for it."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        basis = "LeP" if case.name == "TC-2" else "CP"
        return [
            Setting(
                f"degree {degree}",
                {"basis": basis, "degree": degree, "points": points, "method": "lstsq"},
                table=(degree, points) == _SIZES[case.name][-1],
            )
            for degree, points in _SIZES[case.name]
        ]

    def run(self, task: Task) -> Outcome:
        # TFC selects double precision on import. The first build translates the equation, which a user would
        # write by hand, and loads jax.
        _build(task.case.problem, task.setting.values)
        return _solve(task)


def _solve(task: Task) -> Outcome:
    from tfc.utils import LsClass, NllsClass

    problem, values = task.case.problem, task.setting.values
    began = time.perf_counter()
    u, residual, x, xi = _build(problem, values)
    built = time.perf_counter()
    # With its timer, run compiles, solves once, and solves again with timing.
    options = {"method": values["method"], "timer": True, "timerType": "perf_counter"}
    facts: dict[str, Any] = {"unknowns": len(xi), "rows": len(x[0])}
    if problem.is_linear:
        solver = LsClass(xi, residual, *x, **options)
        xi, seconds = solver.run(xi, *x)
    else:
        solver = NllsClass(xi, residual, *x, tol=_TOLERANCE, maxIter=_ROUNDS, **options)
        xi, rounds, seconds = solver.run(xi, *x)
        facts["iterations"] = int(rounds)
    first = time.perf_counter() - built - seconds
    # The first call of NLLS does one iteration only.
    compiled = max(0.0, first - seconds / max(1, facts.get("iterations", 1)))
    return Outcome(
        np.asarray(u(xi, *map(_array, task.points.T))),
        built - began + seconds,
        compile_seconds=compiled,
        facts=facts,
    )


def _build(problem: Problem, values: Any) -> tuple[Expression, Expression, tuple[Any, ...], Any]:
    """Return the constrained expression, the residual, the points, and ξ = 0."""
    H, x = free_function(problem, values["basis"], values["degree"], values["points"])
    u = constrained(problem, lambda xi, *x: H(*x) @ xi)
    xi = _array(np.zeros(H(*(c[:1] for c in x)).shape[1]))
    return u, residual_of(problem.statements[0].form, u), x, xi


def _array(c: Any) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(c)


def free_function(problem: Problem, basis: str, degree: int, points: int) -> tuple[Any, tuple[Any, ...]]:
    """Return h₁, …, h_M without those that the constraints project to zero, and the collocation points."""
    from jax import numpy as jnp
    from tfc import mtfc, utfc

    low, high = box_of(problem.domain).T
    redundant = [_redundant_polynomials(problem, axis) for axis in range(len(low))]
    if len(low) == 1:
        tfc_class = utfc(points, redundant[0], degree, basis=basis, x0=float(low[0]), xf=float(high[0]))
        return tfc_class.H, (tfc_class.x,)
    width = max(map(len, redundant))
    # As a matrix: a list of one index would be interpreted as a count.
    table = jnp.array([i + [-1] * (width - len(i)) for i in redundant])
    tfc_class = mtfc([points] * len(low), table, degree, dim=len(low), basis=basis, x0=low, xf=high)
    return tfc_class.H, tfc_class.x


def _redundant_polynomials(problem: Problem, axis: int) -> list[int]:
    """Return the polynomials in this coordinate that are spanned by the support functions."""
    out: set[int] = set()
    for statement in problem.statements[1:]:
        region = statement.region
        if isinstance(region, BoundaryPart) and problem.coordinates[axis] != time_of(problem.domain):
            out |= {0, 1}
        elif isinstance(region, Slice) and region.axis == axis:
            out |= {statement.form.derivatives[0].alpha[axis]}
        elif isinstance(region, PeriodicFaces) and region.axis == axis:
            out |= {1}
    return sorted(out)


def constrained(problem: Problem, g: Expression) -> Expression:
    """Return the constrained expression of a free function: time first, then each space coordinate."""
    u = g
    for statement in problem.statements[1:]:
        region, form = statement.region, statement.form
        if isinstance(region, Slice):
            u = _at_start(
                u, region.axis, region.level, form.derivatives[0].alpha[region.axis], _condition_value(form)
            )
    for statement in problem.statements[1:]:
        region, form = statement.region, statement.form
        if isinstance(region, PeriodicFaces):
            u = _periodic(u, region.axis, region.low, region.high)
        elif isinstance(region, BoundaryPart):
            for axis, (low, high) in enumerate(box_of(problem.domain)):
                if problem.coordinates[axis] != time_of(problem.domain):
                    u = _at_ends(u, axis, low, high, _condition_value(form))
    return u


def _condition_value(form: Form) -> Expression:
    """Return κ of the condition ∂ᵏu = κ."""
    return _compiled(form.variables.coordinates, -form.rest)


@cache
def _compiled(arguments: Any, expression: Any) -> Expression:
    from jax import numpy as jnp

    function = sp.lambdify(arguments, expression, modules="jax", cse=True)
    return lambda *x: function(*x) + jnp.zeros_like(x[0])


def _with_coordinate(x: tuple[Any, ...], axis: int, level: float) -> tuple[Any, ...]:
    from jax import numpy as jnp

    return (*x[:axis], jnp.full_like(x[axis], level), *x[axis + 1 :])


def _at_start(g: Expression, axis: int, level: float, order: int, value: Expression) -> Expression:
    """g + (x - a)ᵏ/k! (κ - ∂ᵏg(a)), for conditions in the order k = 0, 1."""
    there = g
    for _ in range(order):
        there = derivative(there, axis)

    def u(xi: Any, *x: Any) -> Any:
        at = _with_coordinate(x, axis, level)
        return g(xi, *x) + (x[axis] - level) ** order * (value(*at) - there(xi, *at))

    return u


def _at_ends(g: Expression, axis: int, low: float, high: float, value: Expression) -> Expression:
    """g + (1 - s)(κ(a) - g(a)) + s (κ(b) - g(b)), s = (x - a)/(b - a)."""

    def u(xi: Any, *x: Any) -> Any:
        a, b = _with_coordinate(x, axis, low), _with_coordinate(x, axis, high)
        s = (x[axis] - low) / (high - low)
        return g(xi, *x) + (1 - s) * (value(*a) - g(xi, *a)) + s * (value(*b) - g(xi, *b))

    return u


def _periodic(g: Expression, axis: int, low: float, high: float) -> Expression:
    """g + s (g(a) - g(b)), s = (x - (a + b)/2)/(b - a)."""

    def u(xi: Any, *x: Any) -> Any:
        s = (x[axis] - (low + high) / 2) / (high - low)
        return g(xi, *x) + s * (
            g(xi, *_with_coordinate(x, axis, low)) - g(xi, *_with_coordinate(x, axis, high))
        )

    return u


def derivative(u: Expression, axis: int) -> Expression:
    """Return ∂u/∂x_axis by the element-wise gradient of TFC."""
    from tfc.utils import egrad

    du: Expression = egrad(u, axis + 1)
    return du


def residual_of(form: Form, u: Expression) -> Expression:
    """Return the residual N[u] - f of the equation of the case."""
    functions: dict[Any, Expression] = {}
    for symbol in form.derivatives:
        functions[symbol] = u
        for axis, order in enumerate(symbol.alpha):
            for _ in range(order):
                functions[symbol] = derivative(functions[symbol], axis)
    coordinates = form.variables.coordinates
    symbols = [s for _, s in form.nonlinear]
    rest = _compiled((*coordinates, *symbols), form.rest)
    linear = [(functions[symbol], _compiled(coordinates, a)) for symbol, a in form.linear]
    nonlinear = [functions[symbol] for symbol, _ in form.nonlinear]

    def residual(xi: Any, *x: Any) -> Any:
        out = rest(*x, *(du(xi, *x) for du in nonlinear))
        for du, a in linear:
            out = out + a(*x) * du(xi, *x)
        return out

    return residual
