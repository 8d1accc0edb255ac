"""Methods of `Problem` that delegate to other packages: `analysis`, `plot` and the HTML of notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pibls.analysis.analysis import Analysis
    from pibls.problem import Problem


class ProblemAccessors:
    """Base class of `Problem` with methods of higher packages, which import on demand."""

    @property
    def analysis(self) -> Analysis:
        """What is known before solving: type, well-posedness, corners, …; `Analysis.summary` shows it."""
        from pibls.analysis.analysis import analyze

        return analyze(cast("Problem", self))

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: equations, conditions and a sketch of the domain."""
        from pibls.notebook.problem import problem_html

        return problem_html(cast("Problem", self))

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Plot the domain, with each part of its boundary in the colour of its condition.

        Parts without a condition are grey and dashed. Returns the Matplotlib axes.
        """
        from pibls.notebook.problem_plot import plot_problem

        return plot_problem(cast("Problem", self), ax=ax)
