"""Steps shared by several commands: read a problem file, solve it, choose output files, exit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from pibls.cli.exits import Exit, UsageError, exit_interrupted, exit_with

if TYPE_CHECKING:
    from pibls.io import ProblemFile
    from pibls.problem.problem import Problem
    from pibls.solution import Solution
    from pibls.solution.settings import SolveSettings


def read_problem_file(path: Path, parameters: list[str] | None) -> ProblemFile:
    """Read a problem file, with the values of ``--param`` in place of its own."""
    from pibls.cli.values import assignments
    from pibls.io import read_problem

    return read_problem(path, parameters=assignments(parameters or [], "--param"))


def solve_silently(problem: Problem, **settings: Unpack[SolveSettings]) -> Solution:
    """Solve without a `ConvergenceWarning`; the printed summary shows whether the tolerance was reached."""
    import warnings

    import pibls

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, **settings)


def solution_path(problem: Path, file: ProblemFile) -> Path:
    """Path of the saved solution: from [output], else the name of the problem file with suffix .pibls."""
    name = file.outputs.get("solution")
    return problem.parent / name if name else problem.with_suffix(".pibls")


def output_targets(file: ProblemFile, folder: Path, picture: Path | None) -> dict[str, Path]:
    """Further output files: option or key that requests one → path."""
    targets = {f"output.{kind}": folder / name for kind, name in file.outputs.items() if kind != "solution"}
    if picture is not None:
        targets.pop("output.picture", None)
        targets["--picture"] = picture
    return targets


def write_sketch(file: ProblemFile, path: Path) -> None:
    """Write a sketch of the domain and its conditions as SVG."""
    from pibls.notebook.sketch import sketch
    from pibls.problem import condition_regions

    drawn = sketch(file.problem.domain, condition_regions(file.problem))
    if not drawn:
        n = len(file.problem.coordinates)
        raise UsageError(
            f"--picture: expected at most three space coordinates, got {n} coordinates. Omit --picture."
        )
    path.write_text(drawn, encoding="utf-8")


def exit_by_status(solution: Solution, what_was_saved: str) -> None:
    """Exit with the code of the status; ``what_was_saved`` is printed after an interruption."""
    from pibls.status import Status

    if solution.status is Status.INTERRUPTED:
        exit_interrupted(f"interrupted: {what_was_saved}")
    exit_with(Exit.CONVERGED if solution.converged else Exit.NOT_CONVERGED)
