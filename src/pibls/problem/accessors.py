"""problem.plot(): the ways out of problems, as plain methods (`solution.doors` says why)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pibls.problem import Problem


class ProblemDoors:
    """What a problem can be turned into."""

    def _repr_html_(self) -> str:
        """HTML for a notebook: the equations and conditions, and a sketch of the domain."""
        from pibls.notebook.problem import problem_html

        return problem_html(cast("Problem", self))

    def plot(self, *, ax: Any = None) -> Any:
        """The domain, each part of its boundary in the colour of the condition that holds there.

        Where nothing holds the line is grey and dashed. Returns the Matplotlib axes.
        """
        from pibls.notebook.picture import plot_problem

        return plot_problem(cast("Problem", self), ax=ax)
