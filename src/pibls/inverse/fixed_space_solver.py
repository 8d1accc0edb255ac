r"""u(θ) and ∂u/∂θ by least squares in the fixed space of one solution, window after window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pibls.analysis.evolution import Evolution, evolution_of
from pibls.arrays import Array
from pibls.assembly.points import place
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.inverse.least_squares_window import (
    MAX_CACHED_COLUMNS,
    FaceDerivatives,
    LeastSquaresWindow,
    WindowSolution,
    check_residual,
    face_condition_residuals,
    with_cached_values,
)
from pibls.inverse.parameter_derivatives import residual_derivatives
from pibls.inverse.window_start import continuation_conditions, with_initial_conditions
from pibls.linalg.threads import limit_blas_threads
from pibls.problem import PartialDerivative, Problem
from pibls.problem.forms.compilation import CompiledProblem, compile_problem
from pibls.solution import Solution
from pibls.spaces import CellSpace, SingleDomainSpace, Space

_MAX_CACHED_VALUES = 20_000_000  # numbers up to which basis values at the points are cached
_DIFFERENCE_STEP = 1e-5  # relative step of a parameter in differences of the face conditions


@dataclass
class FixedSpaceSolution:
    """The solution at one value of the parameters: its windows in the order of integration."""

    problem: Problem
    windows: list[WindowSolution]
    derivatives: list[Array] | None = None
    """∂w/∂θ of each window, (columns, parameters)."""


@dataclass
class FixedSpaceSolver:
    """Solver for a problem with varying parameters in a fixed space."""

    space: Space
    windows: list[LeastSquaresWindow]
    parameter_indices: tuple[int, ...]
    """The varying parameters, as indices into the parameters of the problem."""
    interface_planes: tuple[tuple[int, float], ...]
    tol: float
    evolution: Evolution | None = None
    window_starts: tuple[float, ...] = ()
    """The start of each window, in the order of integration."""
    reference_residual: float = field(default=0.0)
    """The relative residual at the parameters where the space was found."""

    @classmethod
    def from_solution(cls, solution: Solution, parameter_indices: Sequence[int]) -> FixedSpaceSolver:
        """Return a solver with the space and the points of a solution."""
        problem, space = solution.problem, solution.space
        compiled, domain = compile_problem(problem), problem.domain
        planes = compiled.interfaces.planes
        if not space.time_windows:

            def with_same_points(own: SingleDomainSpace) -> LeastSquaresWindow:
                points = solution.settings["points"]
                placed_points = place(compiled, domain, points, np.random.default_rng(solution.seed))
                cache_values = 6 * space.nodes * sum(map(len, placed_points.values())) < _MAX_CACHED_VALUES
                return LeastSquaresWindow(
                    with_cached_values(own) if cache_values else own, domain, placed_points
                )

            window = space.by_kind(
                single_domain=with_same_points, cells=lambda cells: LeastSquaresWindow(cells, domain)
            )
            return cls(space, [window], tuple(parameter_indices), planes, solution.tol)
        evolution = evolution_of(compiled, domain)
        assert evolution is not None
        parts = space.window_spaces
        starts = tuple(start for start, _ in space.time_windows)
        if not evolution.forward:
            parts, starts = parts[::-1], tuple(stop for _, stop in space.time_windows[::-1])
        cache_values = sum(15 * p.nodes * 100 for p in parts) < _MAX_CACHED_VALUES

        def in_window(start: float, own: SingleDomainSpace) -> LeastSquaresWindow:
            box = _basis_box(own, box_of(domain), evolution, start)
            return LeastSquaresWindow(with_cached_values(own) if cache_values else own, domain, box=box)

        window_solvers = [
            p.by_kind(
                single_domain=partial(in_window, start), cells=lambda cells: LeastSquaresWindow(cells, domain)
            )
            for p, start in zip(parts, starts, strict=True)
        ]
        return cls(space, window_solvers, tuple(parameter_indices), planes, solution.tol, evolution, starts)

    @property
    def is_cacheable(self) -> bool:
        """Whether it is small enough to be cached for the next fit."""
        return sum(s.space.columns for s in self.windows) < MAX_CACHED_COLUMNS

    def reproduce(self, solution: Solution) -> FixedSpaceSolution:
        """Solve at the parameters of the solution that the space was taken from."""
        parts = self.space.window_coefficients(solution.coefficients)
        parts = parts if self._is_forward else parts[::-1]
        found = self._solve_windows(solution.problem, parts, None)
        self.reference_residual = max(s.residual for s in found.windows)
        return found

    def solve_at(self, problem: Problem, previous: FixedSpaceSolution, step: Array) -> FixedSpaceSolution:
        """Solve at other parameters, starting from a nearby solution; ``step`` is the difference in θ."""
        check_fixed_interfaces(compile_problem(problem), self.interface_planes)
        weights = [s.w for s in previous.windows]
        if previous.derivatives is not None:
            weights = [w + d @ step for w, d in zip(weights, previous.derivatives, strict=True)]
        found = self._solve_windows(problem, weights, previous)
        check_residual(max(s.residual for s in found.windows), self.reference_residual, self.tol)
        return found

    def _solve_windows(
        self, problem: Problem, weights: Sequence[Array], previous: FixedSpaceSolution | None
    ) -> FixedSpaceSolution:
        done: list[WindowSolution] = []
        faces_vary = bool(self.interface_planes)
        with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for i, (window, w) in enumerate(zip(self.windows, weights, strict=True)):
                compiled = compile_problem(problem)
                if i:
                    e = self.evolution
                    assert e is not None
                    last = self.windows[i - 1].space
                    initial_data = continuation_conditions(
                        last, done[-1].w, e, self.window_starts[i], compiled.dimension
                    )
                    compiled = with_initial_conditions(compiled, e, initial_data)
                system = window.system(compiled, faces_vary)
                start = np.zeros(system.shape[1])
                start[: len(w)] = w
                done.append(window.solve(system, start, None if previous is None else previous.windows[i]))
        return FixedSpaceSolution(problem, done)

    def differentiate(self, solution: FixedSpaceSolution) -> list[Array]:
        """Return ∂w/∂θ of each window; cached in the solution."""
        if solution.derivatives is not None:
            return solution.derivatives
        expressions = residual_derivatives(solution.problem, self.parameter_indices)
        values = tuple(solution.problem.parameters.values())
        count = len(self.parameter_indices)
        out: list[Array] = []
        with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for i, (window, solved) in enumerate(zip(self.windows, solution.windows, strict=True)):
                previous = None
                if i:
                    previous = _derivative_function(self.windows[i - 1].space, out[-1])
                faces = (
                    self._face_derivatives(window, solved, solution.problem, i)
                    if self.interface_planes
                    else None
                )
                out.append(window.differentiate(solved, values, expressions, count, previous, faces))
        solution.derivatives = out
        return out

    def _face_derivatives(
        self, window: LeastSquaresWindow, solved: WindowSolution, problem: Problem, i: int
    ) -> FaceDerivatives | None:
        """Return ∂/∂θ of the face conditions between materials, by central differences."""
        if solved.system.as_cell_system is None:
            return None
        symbols, columns = list(problem.parameters), []
        for k in self.parameter_indices:
            value = problem.parameters[symbols[k]]
            h = _DIFFERENCE_STEP * (abs(value) or 1.0)
            sides = []
            for sign in (1.0, -1.0):
                compiled = compile_problem(problem.at({symbols[k]: value + sign * h}))
                system = replace(window, _cell_cache=None).system(compiled, True)
                assert system.as_cell_system is not None
                sides.append(face_condition_residuals(system.as_cell_system, solved.w))
            batches = [zip(up, down, strict=True) for up, down in zip(*sides, strict=True)]
            columns.append([[(a - b) / (2.0 * h) for a, b in batch] for batch in batches])
        return [
            [np.column_stack(cell) for cell in zip(*batch, strict=True)]
            for batch in zip(*columns, strict=True)
        ]

    def values(
        self, solution: FixedSpaceSolution, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Array:
        """Return ∂^α u at points, (derivatives, n)."""
        return self._cached_space().values(
            (X,), derivatives, self._joined_coefficients([s.w for s in solution.windows])
        )

    def derivatives(
        self, solution: FixedSpaceSolution, X: Array, derivatives: tuple[PartialDerivative, ...]
    ) -> Array:
        """Return ∂^α ∂u/∂θ at points, (parameters, derivatives, n)."""
        sensitivities, space = self.differentiate(solution), self._cached_space()
        found = [
            space.values((X,), derivatives, self._joined_coefficients([s[:, k] for s in sensitivities]))
            for k in range(len(self.parameter_indices))
        ]
        return np.array(found).reshape(len(self.parameter_indices), len(derivatives), len(X))

    def _cached_space(self) -> Space:
        """The space of all windows, with their cached basis values."""
        spaces = [s.space for s in self.windows]
        return self.space.with_window_spaces(spaces if self._is_forward else spaces[::-1])

    @property
    def _is_forward(self) -> bool:
        """Whether the windows follow one another in the direction of time."""
        return self.evolution is None or self.evolution.forward

    def _joined_coefficients(self, parts: Sequence[Array]) -> Array:
        cut = [p[: s.space.columns] for p, s in zip(parts, self.windows, strict=True)]
        return np.concatenate(cut if self._is_forward else cut[::-1])


def check_fixed_interfaces(compiled: CompiledProblem, planes: tuple[tuple[int, float], ...]) -> None:
    """Raise a `ProblemError` if the parameters move an interface."""
    if compiled.interfaces.planes != planes:
        raise ProblemError(
            "unknown",
            expected="parameters that do not move jumps of the coefficients",
            got="one that moves the place of a jump",
            remedy="Fix it, or replace the jump by a steep smooth function such as tanh.",
        )


def supports_fixed_space(space: Space) -> bool:
    """Whether systems can be assembled in a space, or in that of each of its windows."""
    return all(
        p.by_kind(single_domain=lambda _: True, cells=lambda _: True, other=lambda _: False)
        for p in space.window_spaces
    )


def _derivative_function(space: SingleDomainSpace | CellSpace, derivatives: Array) -> Any:
    def values(X: Array, derivative: PartialDerivative) -> Array:
        columns = [
            space.values((X,), (derivative,), derivatives[: space.columns, k])[0]
            for k in range(derivatives.shape[1])
        ]
        return np.column_stack(columns)

    return values


def _basis_box(space: SingleDomainSpace, whole: Array, evolution: Evolution, start: float) -> Array:
    """The box of the random features; sides that coincide with the domain's are set to them exactly."""
    basis: Any = space.bases[0]
    box = np.column_stack([basis.centre - basis.half, basis.centre + basis.half])
    near = np.abs(box - whole) <= 1e-12 * np.ptp(whole, axis=1)[:, None]
    box = np.where(near, whole, box)
    box[evolution.axis, 0 if evolution.forward else 1] = start
    return box
