r"""θ ↦ g[u(θ)](xᵢ) and its derivative: one problem with the data that were measured in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from pibls.arrays import Array
from pibls.errors import ProblemError
from pibls.inverse.data import Data
from pibls.inverse.kept import Kept, kept
from pibls.inverse.measured import Measured, measured
from pibls.inverse.resolve import solution_at
from pibls.inverse.stages import LostError
from pibls.inverse.unknowns import Unknowns
from pibls.problem import Problem
from pibls.solution import Solution


@dataclass
class Experiment:
    """A problem, its data, and the space in which it is solved again and again."""

    problem: Problem
    data: tuple[Data, ...]
    unknowns: Unknowns
    settings: dict[str, Any]
    solves: int = 0
    """How often it was solved in a space that was there."""
    searches: int = 0
    """How often a space was searched for."""
    _held: Kept | None = None
    _chain: Any = None
    """The solution at the last θ, in the form of what is kept."""
    _theta: Array = field(default_factory=lambda: np.empty(0))
    _measured: list[Measured] = field(default_factory=list)
    searched: Array | None = None
    """Where the space was searched for, …"""
    found: Solution | None = None
    """… and what was found there."""

    def __post_init__(self) -> None:
        own = list(self.problem.parameters)
        self._wanted = [i for i, s in enumerate(self.unknowns.symbols) if s in own]
        """The parameters of the fit that the problem has."""
        self._moving = [own.index(self.unknowns.symbols[i]) for i in self._wanted]
        points = [d.points_in(self.problem) for d in self.data]
        self._measured = [self.measured(d.expression, X) for d, X in zip(self.data, points, strict=True)]

    def measured(self, expression: Any, X: Array) -> Measured:
        """An expression at the points of its data."""
        return measured(self.problem, expression, X, self.unknowns.symbols)

    def at(self, theta: Array) -> Problem:
        """The problem with these values."""
        return self.problem.at({self.unknowns.symbols[i]: theta[i] for i in self._wanted})

    def solve(self, theta: Array) -> None:
        """Have the solution at θ: near the last one in its space, otherwise by a search."""
        if self._chain is not None and np.array_equal(theta, self._theta):
            return
        if self._chain is None:
            self._recall()
        if self._held is not None and self._chain is not None:
            step = (theta - self._theta)[self._wanted]
            try:
                self._chain = self._held.at(self.at(theta), self._chain, step)
                self._theta = theta.copy()
                self.solves += 1
                return
            except LostError:
                pass
        self.search(theta)

    def search(self, theta: Array) -> Solution:
        """A new space, by a full solve at θ."""
        found = solution_at(self.at(theta), self.settings)
        self.searches += 1
        try:
            held, chain = kept(found, self._moving, self.settings)
        except LostError:
            raise ProblemError(
                "tol",
                expected="solutions that are found again from where they are",
                got=f"one that is not, with tol = {found.tol:g}. {found.explanation}",
                remedy="Lower tol.",
            ) from None
        self._held, self._chain, self._theta = held, chain, theta.copy()
        self.searched, self.found = theta.copy(), found
        if held.small:
            self.problem.structure[self._key] = (held, chain, theta.copy())
        return found

    @property
    def _key(self) -> str:
        return f"fit {self.unknowns.symbols} {sorted(self.settings.items())}"

    def _recall(self) -> None:
        """The space that an earlier fit of this problem has searched for."""
        kept = self.problem.structure.get(self._key)
        if kept is not None and not self.searches:
            self._held, self._chain, searched = kept
            self._theta = self.searched = searched.copy()

    def predict(self, theta: Array) -> Array:
        """g[u(θ)] at all data."""
        self.solve(theta)
        return np.concatenate([self.value(m, theta) for m in self._measured])

    def value(self, m: Measured, theta: Array) -> Array:
        assert self._held is not None
        assert self._chain is not None
        return m.value(self._values(theta), partial(self._held.values, self._chain))

    def jacobian(self, theta: Array) -> Array:
        """∂g/∂θ at all data, (data, parameters)."""
        self.solve(theta)
        return np.concatenate([self.slope(m, theta) for m in self._measured])

    def slope(self, m: Measured, theta: Array) -> Array:
        """∂g/∂θ, (points, parameters)."""
        assert self._held is not None
        assert self._chain is not None
        slopes = partial(self._held.derivatives, self._chain) if self._moving else None
        values = partial(self._held.values, self._chain)
        return m.slope(self._values(theta), values, slopes, self._wanted)

    def _values(self, theta: Array) -> tuple[float, ...]:
        """Of the problem's parameters, and of those that only the data have."""
        values = dict(self.problem.parameters)
        values.update(zip(self.unknowns.symbols, theta, strict=True))
        return tuple(values.values())

    def drop(self) -> Any:
        """Forget the solution, so that it is made anew."""
        old, self._chain = self._chain, None
        return old
