r"""u(θ), ∂u/∂θ through all windows: a problem in the space of one search, at any parameters nearby."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pibls.adaptive.evolution import Evolution, continued, evolution_of, handed_over
from pibls.arrays import Array
from pibls.assembly.points import place
from pibls.errors import ProblemError
from pibls.geometry import box_of
from pibls.inverse.slopes import residual_slopes
from pibls.inverse.stages import SMALL, Faces, SolvedStage, Stage, serves, tabled, tied_rows
from pibls.linalg.threads import sensible_threads
from pibls.problem import Jet, Problem
from pibls.problem.forms.lowering import LoweredProblem, lower
from pibls.solution import Solution
from pibls.spaces import Cells, Space, Whole

_TABLES = 20_000_000  # numbers that functions at points may take to be remembered
_STEP = 1e-5  # of a parameter, relative, where the change of faces is taken as a difference


@dataclass
class Chain:
    """The solution at one value of the parameters: its stages in the order of time."""

    problem: Problem
    solved: list[SolvedStage]
    slopes: list[Array] | None = None
    """∂w/∂θ of each stage, (columns, parameters)."""


@dataclass
class Held:
    """A fixed space for a problem with parameters, of which some move."""

    space: Space
    stages: list[Stage]
    moving: tuple[int, ...]
    """Their places among the parameters of the problem."""
    planes: tuple[tuple[int, float], ...]
    tol: float
    evolution: Evolution | None = None
    starts: tuple[float, ...] = ()
    """Where each window begins, in the order of time."""
    loss: float = field(default=0.0)
    """The residual where the space was found."""

    @classmethod
    def of(cls, solution: Solution, moving: Sequence[int]) -> Held:
        """The space and the points of a solution that a search has found."""
        problem, space = solution.problem, solution.space
        lowered, domain = lower(problem), problem.domain
        planes = lowered.interfaces.planes
        windows = space.in_time
        if windows is None:
            own = _one(space)
            stage = Stage(own, domain)
            if own.whole is not None:
                points = solution.settings["points"]
                placed = place(lowered, domain, points, np.random.default_rng(solution.seed))
                small = 6 * space.nodes * sum(map(len, placed.values())) < _TABLES
                stage = Stage(tabled(own.whole) if small else own, domain, placed)
            return cls(space, [stage], tuple(moving), planes, solution.tol)
        evolution = evolution_of(lowered, domain)
        assert evolution is not None
        parts = [_one(p) for p in windows.parts]
        starts = windows.edges[:-1]
        if not evolution.forward:
            parts, starts = parts[::-1], windows.edges[:0:-1]
        small = sum(15 * p.nodes * 100 for p in parts) < _TABLES
        stages = []
        for p, start in zip(parts, starts, strict=True):
            if p.whole is None:
                stages.append(Stage(p, domain))
                continue
            box = _box(p.whole, box_of(domain), evolution, start)
            stages.append(Stage(tabled(p.whole) if small else p, domain, box=box))
        return cls(space, stages, tuple(moving), planes, solution.tol, evolution, starts)

    @property
    def small(self) -> bool:
        """Whether it may be kept for the next fit."""
        return sum(s.space.columns for s in self.stages) < SMALL

    def begin(self, solution: Solution) -> Chain:
        """The chain at the parameters of the solution that the space is from."""
        parts = [solution.coefficients]
        if self.space.in_time is not None:
            starts = self.space.in_time.starts
            parts = [solution.coefficients[a:b] for a, b in pairwise(starts)]
            assert self.evolution is not None
            parts = parts if self.evolution.forward else parts[::-1]
        found = self._run(solution.problem, parts, None)
        self.loss = max(s.loss for s in found.solved)
        return found

    def at(self, problem: Problem, past: Chain, step: Array) -> Chain:
        """The chain at other parameters, from one nearby; ``step`` is how far they are, in θ."""
        unmoved_jumps(lower(problem), self.planes)
        weights = [s.w for s in past.solved]
        if past.slopes is not None:
            weights = [w + d @ step for w, d in zip(weights, past.slopes, strict=True)]
        found = self._run(problem, weights, past)
        serves(max(s.loss for s in found.solved), self.loss, self.tol)
        return found

    def _run(self, problem: Problem, weights: Sequence[Array], past: Chain | None) -> Chain:
        done: list[SolvedStage] = []
        moved = bool(self.planes)
        with sensible_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for i, (stage, w) in enumerate(zip(self.stages, weights, strict=True)):
                lowered = lower(problem)
                if i:
                    e = self.evolution
                    assert e is not None
                    last = self.stages[i - 1].space
                    begun = handed_over(last, done[-1].w, e, self.starts[i], lowered.dimension)
                    lowered = continued(lowered, e, begun)
                system = stage.system(lowered, moved)
                start = np.zeros(system.shape[1])
                start[: len(w)] = w
                done.append(stage.solve(system, start, None if past is None else past.solved[i]))
        return Chain(problem, done)

    def differentiate(self, chain: Chain) -> list[Array]:
        """∂w/∂θ of each stage; kept with the chain."""
        if chain.slopes is not None:
            return chain.slopes
        slopes = residual_slopes(chain.problem, self.moving)
        values = tuple(chain.problem.parameters.values())
        count = len(self.moving)
        out: list[Array] = []
        with sensible_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for i, (stage, solved) in enumerate(zip(self.stages, chain.solved, strict=True)):
                before = None
                if i:
                    before = _before(self.stages[i - 1].space, out[-1])
                faces = self._faces(stage, solved, chain.problem, i) if self.planes else None
                out.append(stage.differentiate(solved, values, slopes, count, before, faces))
        chain.slopes = out
        return out

    def _faces(self, stage: Stage, solved: SolvedStage, problem: Problem, i: int) -> Faces | None:
        """∂/∂θ of what the faces between materials ask for, by differences: their fluxes depend on θ."""
        if solved.system.in_cells is None:
            return None
        symbols, columns = list(problem.parameters), []
        for k in self.moving:
            value = problem.parameters[symbols[k]]
            h = _STEP * (abs(value) or 1.0)
            sides = []
            for sign in (1.0, -1.0):
                lowered = lower(problem.at({symbols[k]: value + sign * h}))
                system = replace(stage, _cells=None).system(lowered, True)
                assert system.in_cells is not None
                sides.append(tied_rows(system.in_cells, solved.w))
            pieces = [zip(up, down, strict=True) for up, down in zip(*sides, strict=True)]
            columns.append([[(a - b) / (2.0 * h) for a, b in piece] for piece in pieces])
        return [
            [np.column_stack(cell) for cell in zip(*piece, strict=True)]
            for piece in zip(*columns, strict=True)
        ]

    def values(self, chain: Chain, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α u at points, (jets, n)."""
        return self._space().values((X,), jets, self._joined([s.w for s in chain.solved]))

    def derivatives(self, chain: Chain, X: Array, jets: tuple[Jet, ...]) -> Array:
        """∂^α ∂u/∂θ at points, (parameters, jets, n)."""
        slopes, space = self.differentiate(chain), self._space()
        found = [
            space.values((X,), jets, self._joined([s[:, k] for s in slopes])) for k in range(len(self.moving))
        ]
        return np.array(found).reshape(len(self.moving), len(jets), len(X))

    def _space(self) -> Space:
        """The space of all stages, with what they remember."""
        spaces = [s.space for s in self.stages]
        if self.space.in_time is None:
            return spaces[0]
        forward = self.evolution is None or self.evolution.forward
        return replace(self.space.in_time, parts=tuple(spaces if forward else spaces[::-1]))

    def _joined(self, parts: Sequence[Array]) -> Array:
        cut = [p[: s.space.columns] for p, s in zip(parts, self.stages, strict=True)]
        if self.evolution is not None and not self.evolution.forward:
            cut = cut[::-1]
        return np.concatenate(cut)


def unmoved_jumps(lowered: LoweredProblem, planes: tuple[tuple[int, float], ...]) -> None:
    """Refuse parameters that move the place of a jump."""
    if lowered.interfaces.planes != planes:
        raise ProblemError(
            "unknown",
            expected="parameters that leave jumps where they are",
            got="one that moves the place of a jump",
            remedy="Fix it, or describe the jump by a steep smooth function such as tanh.",
        )


def can_hold(space: Space) -> bool:
    """Whether a space, or that of each of its windows, is one that systems are assembled in."""
    parts = (space,) if space.in_time is None else space.in_time.parts
    return all(p.whole is not None or p.cells is not None for p in parts)


def _one(space: Space) -> Whole | Cells:
    """A space of one stage."""
    found = space.whole or space.cells
    assert found is not None
    return found


def _before(space: Whole | Cells, slopes: Array) -> Any:
    def values(X: Array, jet: Jet) -> Array:
        columns = [space.values((X,), (jet,), slopes[: space.columns, k])[0] for k in range(slopes.shape[1])]
        return np.column_stack(columns)

    return values


def _box(space: Whole, whole: Array, evolution: Evolution, start: float) -> Array:
    """The box that waves are drawn for; sides that are those of the domain are so to the last digit."""
    basis: Any = space.bases[0]
    box = np.column_stack([basis.centre - basis.half, basis.centre + basis.half])
    near = np.abs(box - whole) <= 1e-12 * np.ptp(whole, axis=1)[:, None]
    box = np.where(near, whole, box)
    box[evolution.axis, 0 if evolution.forward else 1] = start
    return box
