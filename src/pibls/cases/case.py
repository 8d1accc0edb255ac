"""A known problem: its statement, its exact solution, and what the paper published for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pibls.arrays import Array, PointFunction
from pibls.problem import Problem


@dataclass(frozen=True)
class Published:
    """The configuration of the paper and the result it reports for it.

    ``settings`` are the keyword arguments that make `pibls.solve` run that configuration.
    """

    settings: dict[str, Any]
    max_error: float
    l2_error: float
    seconds: float


@dataclass(frozen=True)
class Case:
    """A problem with a known solution."""

    name: str
    title: str
    problem: Problem
    published: Published
    solution: PointFunction

    def exact(self, *coordinates: Any) -> Array:
        """The exact solution, a NumPy function of the coordinates."""
        value: Array = self.solution(*coordinates)
        return value

    def __repr__(self) -> str:
        return f"<Case {self.name}: {self.title}>"
