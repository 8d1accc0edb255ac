"""Output files of the commands: plots, animations, tables, VTK and NetCDF files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pibls.cli.exits import UsageError
from pibls.errors import PiblsError, failure_reason
from pibls.geometry import time_of
from pibls.plot.backend import matplotlib
from pibls.problem import Problem
from pibls.solution import Solution

_ANIMATION_FORMATS = ("gif", "mp4", "mov", "webm")


def check_targets(targets: Mapping[str, Path], problem: Problem | None = None) -> None:
    """Check the output paths before solving: the folder exists, the suffix is a known format."""
    for option, path in targets.items():
        if not path.absolute().parent.is_dir():
            raise UsageError(f"{option}: expected an existing folder, got {path.parent}. Create it first.")
        if path.is_dir():
            raise UsageError(
                f"{option}: expected a file name, got the folder {path}. Add the name of a file."
            )
    for option in ("--picture", "output.picture"):
        if option in targets:
            _check_picture(option, targets[option], problem)


def _check_picture(option: str, path: Path, problem: Problem | None) -> None:
    kinds = {*matplotlib("figure").Figure().canvas.get_supported_filetypes(), *_ANIMATION_FORMATS}
    if _format(path) not in kinds:
        endings = ", ".join(f".{k}" for k in sorted(kinds))
        raise UsageError(f"{option}: expected a file name ending in {endings}, got {path}. Rename it.")
    if _format(path) not in _ANIMATION_FORMATS or problem is None:
        return
    if time_of(problem.domain) is None:
        raise UsageError(
            f"{option}: expected a still image, since the problem has no time, got {path}. Use .png."
        )
    if _format(path) != "gif" and not matplotlib("animation").FFMpegWriter.isAvailable():
        raise UsageError(
            f"{option}: expected a .gif, got {path}. Install ffmpeg to write videos, or use .gif."
        )


def write_outputs(
    solution: Solution, targets: Mapping[str, Path], title: str
) -> tuple[list[Path], list[str]]:
    """Write the requested files; return the paths written and the error messages."""
    written, problems = [], []
    for option, path in targets.items():
        try:
            written.append(_write(solution, option, path, title))
        except PiblsError as problem:
            problems.append(str(problem))
        except (OSError, ValueError, MemoryError) as problem:
            problems.append(f"{path}: {failure_reason(problem)}")
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
    """Plot a solution into a file, or animate it if the suffix is that of a video."""
    matplotlib("pyplot").switch_backend("Agg")
    if _format(path) in _ANIMATION_FORMATS:
        solution.animate(path)
        return
    first = np.ravel(np.asarray(solution.plot(), dtype=object))[0]
    if title:
        first.figure.suptitle(title.replace("$", r"\$"), fontsize="large")
    first.figure.savefig(path, dpi=150, bbox_inches="tight")


def _format(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")
