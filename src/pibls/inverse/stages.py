r"""r(w; θ) = 0 in a fixed space: what a search has found, kept for the same problem at other parameters.

The space (functions, cells, windows) and the points stay; only coefficients and data follow θ. Newton's
method starts from the last solution, moved along its derivative, and uses old factors as long as they
contract. From the same factors comes ∂w/∂θ = -J⁻¹ ∂r/∂θ, window after window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.cells.hybridized import cell_system, without_pairs
from pibls.adaptive.sweeps.repeated import Tabled
from pibls.arrays import Array
from pibls.assembly.hybridized.cells import CellSystem
from pibls.assembly.hybridized.pieces import CellRows
from pibls.assembly.placing import place_in
from pibls.assembly.system import System, assemble
from pibls.geometry import Domain
from pibls.inverse.slopes import Varied
from pibls.linalg.matrix import Matrix, as_matrix, norms
from pibls.linalg.ridge_qr import RidgeQR
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.problem.regions.points import PointSet
from pibls.spaces import Cells, Whole

SMALL = 4000  # functions of what is kept with its problem for the next fit, at most
_WORSE = 30.0  # residuals that much larger than where a space was found: it does not serve
_STEPS = 25  # of Newton's method
_SETTLED = 1e-11  # change of the residuals, relative to the data, at which it ends
_CONTRACTS = 0.1  # a change that much smaller than the one before: the factors serve again
_REFINED = 1e-7  # change of the derivative, relative, at which its refinement ends
_FAR = 0.3  # a step of old factors that long is not trusted
_DIVERGES = 1e-3
_ENOUGH = 1e-6  # a change that neither falls nor matters
_FLOOR = 1e-8  # below, a change that no longer falls is rounding

Placed = Mapping[Region, PointSet]
Before = Callable[[Array, Any], Array]
"""(X, jet) ↦ ∂^α ∂u/∂θ of the window before, (n, parameters)."""


Faces = list[list[Array]]
"""For each cell of each piece: how its sides of the faces change with θ, (rows, parameters)."""


class LostError(Exception):
    """What was kept does not serve at these parameters."""


def serves(loss: float, where_found: float, tol: float) -> None:
    """Raise a `LostError` where a residual is much larger than where the space was found."""
    if not loss <= max(_WORSE * where_found, 10.0 * tol):
        raise LostError


@dataclass
class SolvedStage:
    """A stage at one value of the parameters."""

    system: System | CellSystem
    w: Array
    J: Matrix
    rows: Array
    """Row norms of J."""
    factors: Any
    """Of J, which may be the Jacobian at another place nearby."""
    loss: float
    """The residual that is left, relative."""


@dataclass
class Stage:
    """One least-squares system: all there is, or a window."""

    space: Whole | Cells
    domain: Domain
    placed: Placed | None = None
    """The points, where they are not those of a box."""
    box: Array | None = None
    _cells: tuple[CellSystem, list[list[Any]]] | None = field(default=None, repr=False)
    """How the cells are tied, and their points, piece by piece."""

    def system(self, lowered: LoweredProblem, moved: bool) -> System | CellSystem:
        """The system of the problem at its parameters; ``moved`` says that faces depend on them."""
        if self.space.cells is not None:
            return self._in_cells(self.space.cells, lowered, moved)
        assert self.space.whole is not None
        if self.placed is None:
            assert self.box is not None
            box, nodes = self.box, self.space.nodes
            found = {r.region: place_in(r.region, self.domain, box, nodes) for r in lowered.residuals}
            self.placed = {region: points for region, points in found.items() if len(points)}
        kept = tuple(r for r in lowered.residuals if r.region in self.placed)
        return assemble(replace(lowered, residuals=kept), self.placed, self.space.whole)

    def _in_cells(self, space: Cells, lowered: LoweredProblem, moved: bool) -> CellSystem:
        if self._cells is None or moved:
            made = cell_system(lowered, self.domain, space)
            points = [
                [{b.residual.region: b.points for b in c.system.blocks} for c in p] for p in made.pieces
            ]
            # What is assembled anew is not kept: there are many windows.
            kept = tuple(tuple(replace(c, system=cast("System", None)) for c in p) for p in made.pieces)
            self._cells = (replace(made, pieces=kept), points)
            return made
        tied, placed = self._cells
        plain = without_pairs(lowered)

        def renewed(c: CellRows, here: Placed) -> CellRows:
            local = tuple(r for r in plain.residuals if r.region in here)
            return replace(c, system=assemble(replace(plain, residuals=local), here, space.parts[c.cell]))

        both = zip(tied.pieces, placed, strict=True)
        return replace(tied, pieces=tuple(tuple(map(renewed, piece, mine)) for piece, mine in both))

    def solve(self, system: System | CellSystem, w: Array | None, old: SolvedStage | None) -> SolvedStage:
        """Newton's method from w; the factors of an old solution serve while they contract."""
        w = np.zeros(system.shape[1]) if w is None else w
        J: Matrix | None = None
        factors, rows, own = None, np.empty(0), False
        if old is not None:
            J, factors, rows = old.J, old.factors, old.rows
        r, last = system.residual(w), np.inf
        for _ in range(_STEPS):
            if J is None or factors is None:
                J = system.jacobian(w)
                rows, own = norms(J, 1), True
                factors = RidgeQR().factor_scaled(J, rows, RidgeQR().cond)
            b = J @ w - r
            moved = factors.apply(b)
            r_new = system.residual(moved)
            change = _norm(r_new - r, rows) / (_norm(b, rows) or 1.0)
            if not np.isfinite(change):
                change = np.inf
            slow = change > _CONTRACTS * last
            if not own and (slow or change > _FAR):
                factors, last = None, np.inf
                continue
            if own and (change == np.inf or (change > _DIVERGES and change > 2.0 * last)):
                raise LostError
            w, r = moved, r_new
            left = _norm(r, rows) / (_norm(b, rows) or 1.0)
            if change <= _SETTLED or (change <= max(_FLOOR, 0.3 * left) and change > 0.3 * last):
                return SolvedStage(system, w, J, rows, factors, left)
            if own and slow and not system.is_linear:
                factors = None
            last = change
        if last <= _ENOUGH and J is not None:
            return SolvedStage(
                system, w, J, rows, factors or RidgeQR().factor_scaled(J, rows, RidgeQR().cond), left
            )
        raise LostError

    def differentiate(self, solved: SolvedStage, parameters: Sequence[float], slopes: Mapping[str, Varied],
                      count: int, before: Before | None, faces: Faces | None) -> Array:  # fmt: skip
        """∂w/∂θ, (columns, parameters); ``faces`` is how the ties of cells change with θ."""
        system, w = solved.system, solved.w
        if system.in_cells is not None:
            R = _cell_rows(system.in_cells, w, parameters, slopes, count, before, faces)
        else:
            assert system.held is not None
            R = _rows(system.held, w, parameters, slopes, count, before)
        J = system.jacobian(w)
        moved = np.flatnonzero(R.any(axis=0))
        out = np.zeros((system.shape[1], count))
        if len(moved):
            out[:, moved] = self._solved_for(solved, J, R[:, moved])
        return out

    def _solved_for(self, solved: SolvedStage, J: Matrix, R: Array) -> Array:
        """S with J S = -R, by factors that may be those of another place nearby; all columns at once."""
        size = np.maximum(np.abs(R).max(axis=0), 1e-300)
        matrix, old = as_matrix(J), as_matrix(solved.J)
        S, last, change = matrix.solutions(solved.factors, -R), np.inf, np.inf
        for _ in range(8):
            better = matrix.solutions(solved.factors, old.times(S) - matrix.times(S) - R)
            change = float((np.abs(matrix.times(better - S)).max(axis=0) / size).max())
            S = better
            if change <= _REFINED or change > 0.5 * last:
                break
            last = change
        if change > 1e-3:  # the factors are too old for that
            solved.J, solved.rows = J, norms(J, 1)
            solved.factors = RidgeQR().factor_scaled(J, solved.rows, RidgeQR().cond)
            S = matrix.solutions(solved.factors, -R)
        return S


def _rows(
    system: System,
    w: Array,
    parameters: Sequence[float],
    slopes: Mapping[str, Varied],
    count: int,
    before: Before | None,
) -> Array:
    """∂r/∂θ at fixed w, (rows, parameters)."""
    out = np.zeros((system.shape[0], count))
    for block in system.blocks:
        r, X = block.residual, block.points.sites[0]
        if r.region.is_handed:
            assert before is not None
            out[block.rows] = -before(X, r.linear[0])
        elif r.name in slopes:
            varied = slopes[r.name]
            jets = system.space.values(block.points.sites, varied.jets, w)
            out[block.rows] = varied.at(X, block.points.normals, parameters, jets)[2].T
    return out


def tabled(space: Whole) -> Whole:
    """The same space, which remembers its functions at the points it is asked for."""
    made: dict[int, Any] = {}
    return Whole(tuple(made.setdefault(id(b), Tabled(b)) for b in space.bases))


def _cell_rows(
    system: CellSystem,
    w: Array,
    parameters: Sequence[float],
    slopes: Mapping[str, Varied],
    count: int,
    before: Before | None,
    faces: Faces | None,
) -> Array:
    """∂r/∂θ of all cells, each followed by its sides of the faces."""
    frame = system._frame
    found = []
    for p, (piece, mine) in enumerate(zip(system.pieces, frame.local(w), strict=True)):
        parts = [np.zeros((0, count))]
        for c, one in enumerate(piece):
            tied = np.zeros((len(one.jumps), count)) if faces is None else faces[p][c]
            parts += [_rows(one.system, mine[one.cell], parameters, slopes, count, before), tied]
        found.append(np.concatenate(parts))
    return np.column_stack([frame.gathered([part[:, k] for part in found]) for k in range(count)])


def tied_rows(system: CellSystem, w: Array) -> list[list[Array]]:
    """What the faces ask for, at w, for each cell of each piece."""
    out = []
    for piece, mine in zip(system.pieces, system._frame.local(w), strict=True):
        out.append([np.concatenate([np.empty(0), *(s.at(mine) for s in c.ties)]) - c.jumps for c in piece])
    return out


def _norm(r: Array, rows: Array) -> float:
    return float(np.linalg.norm(r / rows))
