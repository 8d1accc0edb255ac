r"""A window in space and time by least squares: waves in its cells, begun where the last one ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.linalg.matrix import is_finite
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem
from pibls.search.again import Again
from pibls.search.bench import Bench
from pibls.search.divided import Reference, cell_system, without_pairs
from pibls.search.evolution import Evolution
from pibls.search.extrapolated import Extrapolated
from pibls.search.followed import Window
from pibls.search.march import NoWindowError, left_by_newton
from pibls.search.thresholds import STARTS, WINDOWS
from pibls.solver import GaussNewton, Outcome
from pibls.space import Cells, CellTree, Whole
from pibls.system.cells import CellSystem
from pibls.system.placing import place_in
from pibls.system.system import System, assemble


@dataclass
class WaveSolver:
    """Solves one window after another."""

    bench: Bench
    evolution: Evolution
    reference: Reference
    tail: float
    """What a window may leave."""
    spared: Callable[[Region, Array], bool] | None = None
    """Whether a condition is left open in a cell, where some are."""
    steps: int = 0
    kept: Again | None = None
    """The last window of a linear evolution."""

    def solve(
        self,
        lowered: LoweredProblem,
        last: Window | None,
        tree: CellTree,
        t: float,
        stop: float,
    ) -> tuple[Whole | Cells, Array]:
        """One window of that length in these cells, whatever it is worth. Raises a `NoWindowError`."""
        e, bench = self.evolution, self.bench
        here = tree.stretched(e.axis, min(t, stop), max(t, stop))
        paired = without_pairs(lowered)
        space: Whole | Cells
        system: System | CellSystem
        alone = len(here) == 1 and len(paired.residuals) == len(lowered.residuals)
        if self.kept is not None and self.spared is None:
            on = self.reference.on(here.boxes[0], lowered.unknowns)
            space = on if alone else self.reference.over(here, lowered.unknowns)
            again = self.kept.moved(paired, here.boxes, space)
            if again is not None:
                w = GaussNewton().linear_solve(again, self.kept.factors).w
                if not np.isfinite(w).all():
                    raise NoWindowError
                return space, w
        if alone:
            box = here.boxes[0]
            space = self.reference.on(box, lowered.unknowns)
            points = {r.region: place_in(r.region, bench.domain, box, space.nodes) for r in lowered.residuals}
            found = {region: p for region, p in points.items() if len(p)}
            kept = tuple(r for r in lowered.residuals if r.region in found)
            system = assemble(LoweredProblem(kept, lowered.unknowns, lowered.dimension), found, space)
        else:
            space = self.reference.over(here, lowered.unknowns)
            system = cell_system(lowered, bench.domain, space, bench.engine, self.spared or _none)
        method = GaussNewton(
            rounds=0,
            continuation=0,
            tolerance=left_by_newton(self.tail),
        )
        if system.is_linear:
            outcome = method.linear_solve(system)
            self.kept = Again(e.axis, here.boxes, system, outcome.factors)
        elif last is None:
            outcome = self._begin(system, method)
        else:
            for degree in (WINDOWS.extrapolated, 0):
                v = system.values_of(Extrapolated(last.space, last.w, e.axis, t, degree), np.empty(0))
                if _usable(system, v):
                    break
            else:
                raise NoWindowError
            outcome = method.descend(system, v, 0.0)
        self.steps += outcome.steps
        if not np.isfinite(outcome.w).all():
            raise NoWindowError
        return space, outcome.w

    def _begin(self, system: System | CellSystem, method: GaussNewton) -> Outcome:
        """The first window starts from its own initial values."""
        from pibls.search.starts import lift

        w = None if system.held is None else lift(system.held, self.bench)
        if w is not None and _usable(system, system.values(w)):
            return method.descend(system, system.values(w), w=w)
        for level in STARTS.levels:
            v = system.level(level)
            if _usable(system, v):
                return method.descend(system, v)
        raise NoWindowError


def _usable(system: System | CellSystem, v: Array) -> bool:
    return bool(np.isfinite(v).all()) and all(is_finite(part) for part in system.linearise(v))


def _none(region: Region, cell: Array) -> bool:
    return False
