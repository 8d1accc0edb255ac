r"""Compilation of forms r = Σⱼ aⱼ(x) Jⱼ + ρ(x, J) from SymPy to functions of NumPy arrays.

Each form is compiled once, with common subexpressions shared and the parameters as further arguments. Later
stages do not use SymPy. A `CompiledProblem` collects the residuals, and as `CompiledInterfaces` the planes
where its coefficients or sources are not smooth, with the fluxes and delta sources there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array, PointFunction
from pibls.geometry import Domain
from pibls.problem.forms.checks import nesting_guard
from pibls.problem.forms.compiled_expressions import Constants, compile_expressions
from pibls.problem.forms.data_functions import DataFunction, call_at_points
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.narrow_peaks import inner_functions
from pibls.problem.problem import Problem
from pibls.problem.regions.selection import Region


@dataclass(frozen=True)
class Residual:
    """A compiled residual Σ a J + ρ, with the derivatives J of its linear part and those in ρ."""

    name: str
    region: Region
    linear: tuple[PartialDerivative, ...]
    nonlinear: tuple[PartialDerivative, ...]
    data: tuple[DataFunction, ...]
    coefficient_function: PointFunction
    rest_function: PointFunction
    partials_function: PointFunction
    parameters: tuple[float, ...] = ()
    """The values of the parameters of the problem, further arguments of the compiled functions."""
    _inner: PointFunction | None = None

    @property
    def derivatives(self) -> tuple[PartialDerivative, ...]:
        """All derivatives, the linear ones first."""
        return (*self.linear, *self.nonlinear)

    def at(self, parameters: tuple[float, ...]) -> Residual:
        """Return the same residual at other values of the parameters."""
        return replace(self, parameters=parameters)

    def restricted_to(self, domain: Domain) -> Residual:
        """Return the same residual with its Python functions called only inside this domain."""
        return replace(self, data=tuple(replace(d, domain=domain) for d in self.data)) if self.data else self

    def coefficients(self, X: Array, normals: Array | None = None, data: Array | None = None) -> Array:
        """Return a_j(x), shape (number of linear derivatives, n); by default with zero normals, as inside."""
        normals = np.zeros_like(X) if normals is None else normals
        data = self.data_function_values(X) if data is None else data
        return self._evaluate(self.coefficient_function, len(self.linear), X, normals, data, _NO_DERIVATIVES)

    def rest(self, X: Array, normals: Array, data: Array, derivatives: Array) -> Array:
        """Return ρ(x, J), shape (n,), for the values (k, n) of the nonlinear derivatives."""
        return np.asarray(self._evaluate(self.rest_function, 1, X, normals, data, derivatives)[0])

    def partials(self, X: Array, normals: Array, data: Array, derivatives: Array) -> Array:
        """Return ∂ρ/∂J for the nonlinear derivatives, shape (k, n)."""
        return self._evaluate(self.partials_function, len(self.nonlinear), X, normals, data, derivatives)

    @property
    def is_constant(self) -> bool:
        """Whether coefficients, ρ and its partials are constants."""
        return all(
            isinstance(f, Constants)
            for f in (self.coefficient_function, self.rest_function, self.partials_function)
        )

    def data_values(self, X: Array, normals: Array) -> Array:
        """Return the data that are not constant, (functions, n): coefficients, ρ at J = 0, ∂ρ/∂J at J = 1."""
        data, n = self.data_function_values(X), len(self.nonlinear)
        made = [
            (self.coefficient_function, len(self.linear), _NO_DERIVATIVES),
            (self.rest_function, 1, np.zeros((n, len(X)))),
        ]
        made += [(self.partials_function, n, np.ones((n, len(X))))] if n else []
        varying = [m for m in made if not isinstance(m[0], Constants)]
        rows = [self._evaluate(f, k, X, normals, data, derivatives) for f, k, derivatives in varying]
        return np.concatenate([np.empty((0, len(X))), *rows])

    def inner_function_values(self, X: Array) -> Array:
        """Return the values of the inner functions g of f(g(x)) in the data, (functions, n)."""
        if self._inner is None:
            return np.empty((0, len(X)))
        with np.errstate(all="ignore"):
            values = self._inner(*X.T, *self.parameters)
        return np.array([np.broadcast_to(np.real(v), len(X)) for v in values])

    def data_function_values(self, X: Array) -> Array:
        """Return the values of the Python functions in this residual at X, (number of functions, n)."""
        out = np.empty((len(self.data), len(X)))
        for row, data_function in zip(out, self.data, strict=True):
            row[:] = call_at_points(data_function, X, self.name)
        return out

    def _evaluate(
        self, function: PointFunction, rows: int, X: Array, normals: Array, data: Array, derivatives: Array
    ) -> Array:
        if isinstance(function, Constants):
            return np.repeat(function.column, len(X), axis=1)
        # Overflow and 0/0 are detected in the result by the caller, which can explain them.
        with np.errstate(all="ignore"):
            values = function(*X.T, *normals.T, *self.parameters, *data, *derivatives)
        out = np.empty((rows, len(X)))
        for row, value in zip(out, values, strict=True):
            if _is_complex(value):  # some functions return complex arrays with zero imaginary part
                value = np.where(np.imag(value) == 0, np.real(value), np.nan)
            row[:] = value
        return out


def _is_complex(value: object) -> bool:
    """Return np.iscomplexobj(value), but faster: it is called for every term in every solve."""
    return value.dtype.kind == "c" if isinstance(value, _NUMPY_VALUES) else isinstance(value, complex)


_NO_DERIVATIVES = np.empty((0, 0))
_NUMPY_VALUES = (np.ndarray, np.generic)


@dataclass(frozen=True)
class CompiledInterfaces:
    """Planes where coefficients or sources are discontinuous, or vary too rapidly to be sampled.

    With the fluxes that are continuous across them, and the delta sources on them.
    """

    planes: tuple[tuple[int, float], ...] = ()
    """(axis, level) of all planes."""
    flux_planes: frozenset[tuple[int, float]] = frozenset()
    """The planes where the flux, and not the normal derivative, is continuous."""
    fluxes: tuple[tuple[int, int, Residual, bool], ...] = ()
    """(equation, axis, F, is_outermost) for F in an equation ∂F/∂x_axis + … = 0, or in ∂²F, …, ∂(… ∂F)."""
    sources: tuple[tuple[int, tuple[int, float], Residual], ...] = ()
    """(equation, plane, strength) of the delta sources on planes."""
    in_equations: bool = True
    """Whether any of them is in an equation; kinks of boundary data leave the solution smooth inside."""
    unlocated: float = 0.0
    """Height, relative to max|f|, of the jumps of a Python function that could not be located."""


@dataclass(frozen=True)
class CompiledProblem:
    """The compiled residuals of a problem."""

    residuals: tuple[Residual, ...]
    unknowns: int
    dimension: int
    interfaces: CompiledInterfaces = CompiledInterfaces()

    @property
    def equations(self) -> tuple[Residual, ...]:
        """The residuals in the interior."""
        return tuple(r for r in self.residuals if r.region.is_interior)

    @property
    def is_linear(self) -> bool:
        return all(not r.nonlinear for r in self.residuals)

    @property
    def order(self) -> int:
        """Order of the highest derivative."""
        return max((sum(j.alpha) for r in self.residuals for j in r.derivatives), default=0)

    def on_region(self, region: Region) -> list[Residual]:
        """Return the residuals of one region."""
        return [r for r in self.residuals if r.region == region]


def compile_problem(problem: Problem) -> CompiledProblem:
    """Compile every statement of a problem, once for all values of its parameters."""
    return problem.memo(_compile)


def _compile(problem: Problem) -> CompiledProblem:
    values = tuple(problem.parameters.values())
    return CompiledProblem(
        tuple(r.at(values) for r in problem.symbolic_memo(_compile_statements, problem, key=())),
        len(problem.unknowns),
        len(problem.coordinates),
        _interfaces(problem, values),
    )


def _compile_statements(problem: Problem) -> tuple[Residual, ...]:
    with nesting_guard("equations"):
        return tuple(compile_form(s.form, s.region).restricted_to(problem.domain) for s in problem.statements)


def _interfaces(problem: Problem, values: tuple[float, ...]) -> CompiledInterfaces:
    """Return the planes where the problem is not smooth, with compiled fluxes and sources."""
    breaks = problem.breaks
    unlocated = max((j.unlocated for j in problem.function_jumps), default=0.0)
    if not breaks:
        return CompiledInterfaces(unlocated=unlocated)
    inside = [s for s in problem.statements if s.region.is_interior]
    fluxes = tuple(
        (
            i,
            flux.axis,
            compile_form(flux.form, s.region).restricted_to(problem.domain).at(values),
            flux.is_outermost,
        )
        for i, s in enumerate(inside)
        for flux in s.form.fluxes
    )
    sources = tuple(
        (
            i,
            (plane[0], level),
            compile_form(delta.strength, s.region).restricted_to(problem.domain).at(values),
        )
        for i, s in enumerate(inside)
        for delta in s.form.deltas
        for plane, level in [(delta.planes[0], problem.delta_level(delta))]
    )
    return CompiledInterfaces(
        tuple((p.axis, p.level) for p in breaks.planes),
        frozenset((p.axis, p.level) for p in breaks.planes if p.coefficient_jumps),
        fluxes,
        sources,
        problem.has_interior_discontinuities,
        unlocated,
    )


def compile_form(form: Form, region: Region) -> Residual:
    """Compile the coefficients, ρ and the partials of a form to one NumPy function each."""
    v = form.variables
    symbols = [*v.coordinates, *v.normals, *v.parameters, *(d.symbol for d in form.data)]
    derivatives = [s for _, s in form.nonlinear]
    given = [*(a for _, a in form.linear), form.rest, *form.partials]
    inner = inner_functions(given, v.coordinates, v.parameters)
    return Residual(
        form.name,
        region,
        tuple(j for j, _ in form.linear),
        tuple(j for j, _ in form.nonlinear),
        form.data,
        compile_expressions(symbols, [a for _, a in form.linear]),
        compile_expressions([*symbols, *derivatives], [form.rest]),
        compile_expressions([*symbols, *derivatives], form.partials),
        _inner=compile_expressions([*v.coordinates, *v.parameters], inner) if inner else None,
    )
