r"""The validation context of an incremental model, and the problems for which there is one."""

from __future__ import annotations

from pibls.adaptive.validation.context import ValidationContext, validation_cache
from pibls.analysis.split_conditions import split_piecewise_conditions
from pibls.errors import ProblemError
from pibls.problem import Problem
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition


def model_context(problem: Problem, seed: int, tol: float) -> ValidationContext:
    """Return the context in which a model of the problem is solved and validated."""
    problem = split_piecewise_conditions(problem)
    return ValidationContext.of(
        compile_problem(problem), problem.domain, seed, tol, None, validation_cache(problem)
    )


def check_without_interfaces(problem: Problem) -> None:
    """Raise a `ProblemError` if the problem has several subdomains."""
    if problem.has_interior_discontinuities or subdomain_decomposition(problem) is not None:
        raise ProblemError(
            "IncrementalBroad(problem)",
            expected="coefficients and sources without jumps on interfaces",
            got="a problem with several subdomains",
            remedy="Use pibls.solve(problem), which solves in all subdomains at once.",
        )
