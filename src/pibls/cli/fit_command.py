"""Data, parameters and output of the command `pibls fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pibls.cli.exits import UsageError
from pibls.cli.output_files import check_targets
from pibls.errors import ProblemError

if TYPE_CHECKING:
    from pibls.inverse import Data, Fit, FitProgress
    from pibls.io import ProblemFile


def read_data(file: ProblemFile, folder: Path, given: Path | None) -> list[Data]:
    """Read the data that [[data]] describes, from the file ``given`` if it is not None."""
    from pibls.io.data_file import entries_from_columns, read_table

    entries = file.data
    if not entries:
        if given is None:
            raise ProblemError(
                "--data",
                expected="measured data",
                got="none: neither --data nor [[data]] in the problem file",
                remedy="Write --data measured.csv.",
            )
        entries = entries_from_columns(file.problem, list(read_table(given).columns))
    return [entry.load(folder, given) for entry in entries]


def fit_parameters(file: ProblemFile, texts: Sequence[str]) -> dict[str, tuple[float, float] | None]:
    """Return the parameters to fit with their bounds: from --unknown if given, else from [fit]."""
    if not texts:
        if not file.fit.unknown:
            names = ", ".join(map(str, file.problem.parameters)) or "it has none"
            raise ProblemError(
                "--unknown",
                expected=f"the parameters to fit, out of those of the problem ({names})",
                got="none: neither --unknown nor [fit] in the problem file",
                remedy="Write --unknown D=100:3000, or [fit] with unknown = { D = [100, 3000] }.",
            )
        return dict(file.fit.unknown)
    return dict(map(_parse_bounds, texts))


def _parse_bounds(text: str) -> tuple[str, tuple[float, float] | None]:
    """Parse NAME=LOW:HIGH, or NAME without bounds."""
    name, equals, bounds = text.partition("=")
    name = name.strip()
    if name and not equals:
        return name, None
    try:
        low, high = map(float, bounds.split(":"))
    except ValueError:
        low, high = 0.0, 0.0
    if not (name and low < high):
        raise ProblemError(
            "--unknown",
            expected="NAME=LOW:HIGH, two numbers with the smaller one first, or NAME",
            got=repr(text),
            remedy=f"Write for example --unknown {name or 'D'}=0.1:10.",
        )
    return name, (low, high)


def check_fit_targets(output: Path | None, picture: Path | None) -> None:
    """Check the output files of a fit before it is computed."""
    if picture is not None and picture.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UsageError(
            f"--picture: expected a file name ending in .png, .pdf or .svg, got {picture}. Rename it."
        )
    targets = {"--out": output, "--picture": picture}
    check_targets({k: path for k, path in targets.items() if path is not None})


def write_fit(fit: Fit, output: Path | None, picture: Path | None) -> list[Path]:
    """Save the solution and the plot of a fit, and return the paths of the files."""
    written = []
    if output is not None:
        written.append(fit.solution.save(output))
    if picture is not None:
        fit.plot().savefig(picture, dpi=144)
        written.append(picture)
    return written


def fit_facts(fit: Fit) -> dict[str, object]:
    """Return the result of a fit for `--json`."""
    return {
        "converged": fit.converged,
        "values": {str(k): v for k, v in fit.values.items()},
        "std": {str(k): v for k, v in fit.std.items()},
        "intervals": {str(k): list(fit.interval(k)) for k in fit.parameters},
        "correlation": fit.correlation.tolist(),
        "sigma": list(fit.sigma),
        "identifiable": bool(fit.identifiable),
        "verdict": str(fit.identifiable),
        "residuals": str(fit.residuals),
        "aic": fit.aic,
        "bic": fit.bic,
        "seconds": fit.seconds,
    }


def progress_printer(print_line: Callable[[str], object]) -> Callable[[FitProgress], object]:
    """Return a callback that prints one line per solve."""

    def report(progress: FitProgress) -> None:
        values = ", ".join(f"{k} = {v:.6g}" for k, v in progress.values.items())
        print_line(f"solve {progress.step:3d}: misfit {progress.misfit:.6g}, {values}")

    return report
