r"""Least-squares system r(w; θ) = 0 of one time window, solved and differentiated at several parameters θ.

The space (basis, cells, windows) and the points are fixed; only the coefficients of the equations and the
data depend on θ. Newton's method starts from the previous solution extrapolated along ∂w/∂θ, and reuses a
factorization of the Jacobian while the iteration contracts. The same factors give ∂w/∂θ = -J⁻¹ ∂r/∂θ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.hybridized import cell_system, without_periodic_conditions
from pibls.adaptive.sweeps.shared_basis import CachedBasis
from pibls.arrays import Array
from pibls.assembly.cell_points import place_in_cell
from pibls.assembly.hybridized.cell_batches import CellRows
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.assembly.system import System, assemble
from pibls.geometry import Domain
from pibls.inverse.parameter_derivatives import DifferentiatedExpression
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.tree.engine import LOCAL
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.regions.points import PointSet
from pibls.spaces import CellSpace, SingleDomainSpace

MAX_CACHED_COLUMNS = 4000  # total columns up to which a solver is cached with its problem for the next fit
_MAX_RESIDUAL_GROWTH = 30.0  # over the residual at the θ where the space was found; beyond, it is rejected
_MAX_NEWTON_STEPS = 25
_RESIDUAL_TOLERANCE = 1e-11  # change of the residuals, relative to the data, at which Newton's method ends
_REUSE_CONTRACTION = 0.1  # ratio of successive changes up to which the factors are reused
_DERIVATIVE_TOLERANCE = 1e-7  # relative change of ∂w/∂θ at which its iterative refinement ends
_MAX_REUSE_CHANGE = 0.3  # relative change beyond which a step with old factors is discarded
_MIN_DIVERGENT_CHANGE = 1e-3  # relative change above which growth means divergence
_ACCEPTED_CHANGE = 1e-6  # last relative change that is accepted after the maximum number of steps
_ROUNDING_CHANGE = 1e-8  # relative change below which stagnation is attributed to rounding

PointSets = Mapping[Region, PointSet]
PreviousDerivative = Callable[[Array, Any], Array]
"""(X, derivative) ↦ ∂^α ∂u/∂θ of the previous window, (n, parameters)."""


FaceDerivatives = list[list[Array]]
"""∂/∂θ of the face conditions of each cell of each batch, (rows, parameters)."""


class FixedSpaceError(Exception):
    """The fixed space does not resolve the problem at these parameters; a full solve is needed."""


def check_residual(residual: float, reference: float, tol: float) -> None:
    """Raise a `FixedSpaceError` if a residual is much larger than at the θ where the space was found."""
    if not residual <= max(_MAX_RESIDUAL_GROWTH * reference, 10.0 * tol):
        raise FixedSpaceError


@dataclass
class WindowSolution:
    """The solution of one window at one value of the parameters."""

    system: System | CellSystem
    w: Array
    J: Matrix
    row_norms: Array
    """Row norms of J."""
    factors: Any
    """Factorization of J, which may be the Jacobian at a nearby θ."""
    residual: float
    """Relative norm of the residual."""


@dataclass
class LeastSquaresWindow:
    """The least-squares system of one time window, or of a problem that is not divided into windows."""

    space: SingleDomainSpace | CellSpace
    domain: Domain
    points: PointSets | None = None
    """The collocation points; chosen in ``box`` when the first system is assembled, if not given."""
    box: Array | None = None
    _cell_cache: tuple[CellSystem, list[list[Any]]] | None = field(default=None, repr=False)
    """The cell system without its matrices, and the points of its cells, batch by batch."""

    def system(self, compiled: CompiledProblem, faces_vary: bool) -> System | CellSystem:
        """Assemble the problem at its parameters; ``faces_vary``: the face conditions depend on them."""
        return self.space.by_kind(
            single_domain=lambda space: self._stored_system(space, compiled),
            cells=lambda space: self._cell_system(space, compiled, faces_vary),
        )

    def _stored_system(self, space: SingleDomainSpace, compiled: CompiledProblem) -> System | CellSystem:
        if self.points is None:
            assert self.box is not None
            box, nodes = self.box, self.space.nodes
            found = {r.region: place_in_cell(r.region, self.domain, box, nodes) for r in compiled.residuals}
            self.points = {region: points for region, points in found.items() if len(points)}
        kept = tuple(r for r in compiled.residuals if r.region in self.points)
        return assemble(replace(compiled, residuals=kept), self.points, space)

    def _cell_system(
        self, space: CellSpace, compiled: CompiledProblem, faces_vary: bool
    ) -> System | CellSystem:
        if self._cell_cache is None or faces_vary:
            made = cell_system(compiled, self.domain, space)
            points = [
                [{b.residual.region: b.points for b in c.system.blocks} for c in p]
                for p in made.local_batches
            ]
            # The matrices are assembled again for each θ and not cached, because there are many windows.
            kept = tuple(
                LOCAL.put(tuple(replace(c, system=cast("System", None)) for c in p))
                for p in made.local_batches
            )
            self._cell_cache = (replace(made, batches=kept), points)
            return made
        template, cell_points = self._cell_cache
        plain = without_periodic_conditions(compiled)

        def renewed(c: CellRows, here: PointSets) -> CellRows:
            local = tuple(r for r in plain.residuals if r.region in here)
            return replace(c, system=assemble(replace(plain, residuals=local), here, space.parts[c.cell]))

        both = zip(template.local_batches, cell_points, strict=True)
        batches = tuple(LOCAL.put(tuple(map(renewed, batch, points))) for batch, points in both)
        return replace(template, batches=batches)

    def solve(
        self, system: System | CellSystem, w: Array | None, old: WindowSolution | None
    ) -> WindowSolution:
        """Newton's method from w; the factors of an old solution are reused while it contracts."""
        w = np.zeros(system.shape[1]) if w is None else w
        J: Matrix | None = None
        factors, rows, is_current = None, np.empty(0), False
        if old is not None:
            J, factors, rows = old.J, old.factors, old.row_norms
        r, last = system.residual(w), np.inf
        for _ in range(_MAX_NEWTON_STEPS):
            if J is None or factors is None:
                J = system.jacobian(w)
                rows, is_current = norms(J, 1), True
                factors = RidgeQR().factor_scaled(J, rows, RidgeQR().cond)
            b = J @ w - r
            moved = factors.apply(b)
            r_new = system.residual(moved)
            change = _relative_change(r_new - r, b, rows)
            slow = change > _REUSE_CONTRACTION * last
            if not is_current and (slow or change > _MAX_REUSE_CHANGE):
                factors, last = None, np.inf
                continue
            if is_current and _is_divergent(change, last):
                raise FixedSpaceError
            w, r = moved, r_new
            residual = _scaled_norm(r, rows) / (_scaled_norm(b, rows) or 1.0)
            if _is_converged(change, last, residual):
                return WindowSolution(system, w, J, rows, factors, residual)
            if is_current and slow and not system.is_linear:
                factors = None
            last = change
        if last <= _ACCEPTED_CHANGE and J is not None:
            return WindowSolution(
                system, w, J, rows, factors or RidgeQR().factor_scaled(J, rows, RidgeQR().cond), residual
            )
        raise FixedSpaceError

    def differentiate(
        self,
        solved: WindowSolution,
        parameters: Sequence[float],
        expressions: Mapping[str, DifferentiatedExpression],
        count: int,
        previous: PreviousDerivative | None,
        faces: FaceDerivatives | None,
    ) -> Array:
        """Return ∂w/∂θ, (columns, parameters).

        ``expressions`` are the residuals that depend on θ by name, ``previous`` is ∂u/∂θ of the previous
        window, ``faces`` the derivatives of the face conditions.
        """
        system, w = solved.system, solved.w
        if system.as_cell_system is not None:
            R = _cell_parameter_rows(
                system.as_cell_system, w, parameters, expressions, count, previous, faces
            )
        else:
            assert system.as_stored is not None
            R = _parameter_rows(system.as_stored, w, parameters, expressions, count, previous)
        J = system.jacobian(w)
        moved = np.flatnonzero(R.any(axis=0))
        out = np.zeros((system.shape[1], count))
        if len(moved):
            out[:, moved] = self._solve_refined(solved, J, R[:, moved])
        return out

    def _solve_refined(self, solved: WindowSolution, J: Matrix, R: Array) -> Array:
        """Solve J S = -R by iterative refinement with factors that may belong to a nearby θ."""
        size = np.maximum(np.abs(R).max(axis=0), 1e-300)
        matrix, old = as_matrix(J), as_matrix(solved.J)
        S, last, change = matrix.solve_columns(solved.factors, -R), np.inf, np.inf
        for _ in range(8):
            better = matrix.solve_columns(solved.factors, old.multiply(S) - matrix.multiply(S) - R)
            change = float((np.abs(matrix.multiply(better - S)).max(axis=0) / size).max())
            S = better
            if change <= _DERIVATIVE_TOLERANCE or change > 0.5 * last:
                break
            last = change
        if change > 1e-3:  # no convergence with the old factors
            solved.J, solved.row_norms = J, norms(J, 1)
            solved.factors = RidgeQR().factor_scaled(J, solved.row_norms, RidgeQR().cond)
            S = matrix.solve_columns(solved.factors, -R)
        return S


def _relative_change(step: Array, b: Array, rows: Array) -> float:
    """Return the change of the residual relative to the right-hand side; infinite if it overflows."""
    change = _scaled_norm(step, rows) / (_scaled_norm(b, rows) or 1.0)
    return change if np.isfinite(change) else np.inf


def _is_divergent(change: float, last: float) -> bool:
    """Whether the steps of Newton's method grow."""
    return change == np.inf or (change > _MIN_DIVERGENT_CHANGE and change > 2.0 * last)


def _is_converged(change: float, last: float, residual: float) -> bool:
    """Whether the residual changes by less than the tolerance, or no longer decreases beyond rounding."""
    if change <= _RESIDUAL_TOLERANCE:
        return True
    return change <= max(_ROUNDING_CHANGE, 0.3 * residual) and change > 0.3 * last


def _parameter_rows(
    system: System,
    w: Array,
    parameters: Sequence[float],
    expressions: Mapping[str, DifferentiatedExpression],
    count: int,
    previous: PreviousDerivative | None,
) -> Array:
    """Return ∂r/∂θ at fixed w, (rows, parameters)."""
    out = np.zeros((system.shape[0], count))
    for block in system.blocks:
        r, X = block.residual, block.points.sites[0]
        if r.region.is_window_start:
            assert previous is not None
            out[block.rows] = -previous(X, r.linear[0])
        elif r.name in expressions:
            expression = expressions[r.name]
            derivatives = system.space.values(block.points.sites, expression.derivatives, w)
            out[block.rows] = expression.at(X, block.points.normals, parameters, derivatives)[2].T
    return out


def with_cached_values(space: SingleDomainSpace) -> SingleDomainSpace:
    """Return the same space with bases that cache their values at the points used."""
    made: dict[int, Any] = {}
    return SingleDomainSpace(tuple(made.setdefault(id(b), CachedBasis(b)) for b in space.bases))


def _cell_parameter_rows(
    system: CellSystem,
    w: Array,
    parameters: Sequence[float],
    expressions: Mapping[str, DifferentiatedExpression],
    count: int,
    previous: PreviousDerivative | None,
    faces: FaceDerivatives | None,
) -> Array:
    """Return ∂r/∂θ of all cells, each followed by its face conditions."""
    frame = system.frame
    found = []
    for p, (batch, mine) in enumerate(zip(system.local_batches, frame.local_coefficients(w), strict=True)):
        parts = [np.zeros((0, count))]
        for c, one in enumerate(batch):
            stored = one.system.as_stored
            assert stored is not None
            face_rows = np.zeros((len(one.jumps), count)) if faces is None else faces[p][c]
            parts += [
                _parameter_rows(stored, mine[one.cell], parameters, expressions, count, previous),
                face_rows,
            ]
        found.append(np.concatenate(parts))
    return np.column_stack([frame.gather_rows([part[:, k] for part in found]) for k in range(count)])


def face_condition_residuals(system: CellSystem, w: Array) -> list[list[Array]]:
    """Return the residuals of the face conditions at w, for each cell of each batch."""
    out = []
    for batch, mine in zip(system.local_batches, system.frame.local_coefficients(w), strict=True):
        out.append(
            [
                np.concatenate([np.empty(0), *(s.multiply(mine) for s in c.face_strips)]) - c.jumps
                for c in batch
            ]
        )
    return out


def _scaled_norm(r: Array, rows: Array) -> float:
    return float(np.linalg.norm(r / rows))
