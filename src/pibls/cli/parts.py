"""What several commands do: read a problem file, solve, name what is to be written, end with a code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pibls.cli.outcome import Exit, RefusedError, leave, leave_interrupted

if TYPE_CHECKING:
    from pibls.io import ProblemFile
    from pibls.solution import Solution


def read(path: Path, parameters: list[str] | None) -> ProblemFile:
    from pibls.cli.values import assignments
    from pibls.io import read_problem

    return read_problem(path, parameters=assignments(parameters or [], "--param"))


def quietly(problem: Any, **settings: Any) -> Solution:
    """The summary says whether it converged: no warning beside it."""
    import warnings

    import pibls

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return pibls.solve(problem, **settings)


def beside(problem: Path, file: ProblemFile) -> Path:
    """Where the file wants its solution, or its own name with another ending."""
    wanted = file.outputs.get("solution")
    return problem.parent / wanted if wanted else problem.with_suffix(".pibls")


def targets_of(file: ProblemFile, folder: Path, picture: Path | None) -> dict[str, Path]:
    """What else to write, by the option that asks for it."""
    wanted = {f"output.{kind}": folder / name for kind, name in file.outputs.items() if kind != "solution"}
    if picture is not None:
        wanted.pop("output.picture", None)
        wanted["--picture"] = picture
    return wanted


def sketch(file: ProblemFile, path: Path) -> None:
    from pibls.notebook.sketch import sketch
    from pibls.problem import condition_regions

    drawn = sketch(file.problem.domain, condition_regions(file.problem))
    if not drawn:
        n = len(file.problem.coordinates)
        raise RefusedError(f"--picture: expected at most three coordinates in space, got {n} in all.")
    path.write_text(drawn, encoding="utf-8")


def end(solution: Solution, kept: str) -> None:
    from pibls.status import Status

    if solution.status is Status.INTERRUPTED:
        leave_interrupted(f"interrupted: {kept}")
    leave(Exit.CONVERGED if solution.converged else Exit.NOT_CONVERGED)
