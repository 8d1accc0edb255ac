"""What a solve leaves behind: the solution first, then pictures and tables, each where it can be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pibls.cli.outcome import RefusedError
from pibls.errors import PiblsError
from pibls.geometry import time_of
from pibls.plot.backend import matplotlib
from pibls.problem import Problem
from pibls.solution import Solution

_FILMS = ("gif", "mp4", "mov", "webm")


def check_targets(targets: Mapping[str, Path], problem: Problem | None = None) -> None:
    """Before anything is solved: names that no picture can have, folders that are not there."""
    for option, path in targets.items():
        if not path.absolute().parent.is_dir():
            raise RefusedError(f"{option}: expected a folder that exists, got {path.parent}. Make it first.")
        if path.is_dir():
            raise RefusedError(f"{option}: expected the name of a file, got the folder {path}.")
    for option in ("--picture", "output.picture"):
        if option in targets:
            _check_picture(option, targets[option], problem)


def _check_picture(option: str, path: Path, problem: Problem | None) -> None:
    kinds = {*matplotlib("figure").Figure().canvas.get_supported_filetypes(), *_FILMS}
    if _kind(path) not in kinds:
        endings = ", ".join(f".{k}" for k in sorted(kinds))
        raise RefusedError(f"{option}: expected a name that ends in {endings}, got {path}.")
    if _kind(path) not in _FILMS or problem is None:
        return
    if time_of(problem.domain) is None:
        raise RefusedError(f"{option}: expected a picture, got {path}: nothing moves without time. Use .png.")
    if _kind(path) != "gif" and not matplotlib("animation").FFMpegWriter.isAvailable():
        raise RefusedError(f"{option}: expected a .gif, got {path}: videos need ffmpeg, which was not found.")


def write_outputs(
    solution: Solution, targets: Mapping[str, Path], title: str
) -> tuple[list[Path], list[str]]:
    """Write what was asked for beside the solution: what was written, and what went wrong."""
    written, problems = [], []
    for option, path in targets.items():
        try:
            written.append(_write(solution, option, path, title))
        except PiblsError as problem:
            problems.append(str(problem))
        except (OSError, ValueError, MemoryError) as problem:
            problems.append(f"{path}: {getattr(problem, 'strerror', None) or problem}")
    return written, problems


def _write(solution: Solution, option: str, path: Path, title: str) -> Path:
    match option.rpartition(".")[2]:
        case "table":
            return solution.to_csv(path)  # type: ignore[no-any-return]
        case "vtk":
            return solution.to_vtk(path.with_suffix(""))  # type: ignore[no-any-return]
        case "netcdf":
            solution.to_xarray().to_netcdf(path)
            return path
    draw(solution, path, title)
    return path


def draw(solution: Solution, path: Path, title: str = "") -> None:
    """The picture of a solution, or its film."""
    matplotlib("pyplot").switch_backend("Agg")
    if _kind(path) in _FILMS:
        solution.animate(path)
        return
    axes: Any = solution.plot()
    first = axes if hasattr(axes, "figure") else next(iter(axes))
    if title:
        first.figure.suptitle(title.replace("$", r"\$"), fontsize="large")
    first.figure.savefig(path, dpi=150, bbox_inches="tight")


def _kind(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")
