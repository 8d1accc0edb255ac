"""pibls fit: the data of a problem file, or of a CSV file, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pibls.cli.values import number
from pibls.errors import ProblemError

if TYPE_CHECKING:
    from pibls.fitting import Data, Fit, FitProgress
    from pibls.io import ProblemFile


def data_of(file: ProblemFile, folder: Path, given: Path | None) -> list[Data]:
    """The data that [[data]] describes; from another file where one is given."""
    from pibls.io.data_file import entries_for, read_table

    entries = file.data
    if not entries:
        if given is None:
            raise ProblemError(
                "--data",
                expected="data",
                got="none, and no [[data]] in the file",
                remedy="Write --data measured.csv.",
            )
        entries = entries_for(file.problem, list(read_table(given)))
    return [entry.load(folder, given) for entry in entries]


def unknown_of(file: ProblemFile, texts: Sequence[str]) -> dict[str, Any]:
    """NAME=LOW:HIGH on the command line, in place of what [fit] wants."""
    if not texts:
        if not file.fit.unknown:
            names = ", ".join(map(str, file.problem.parameters)) or "it has none"
            raise ProblemError(
                "--unknown",
                expected=f"parameters of the problem ({names}) that are wanted",
                got="none, and no [fit] in the file",
                remedy="Write --unknown D=100:3000, or [fit] with unknown = { D = [100, 3000] }.",
            )
        return dict(file.fit.unknown)
    out: dict[str, Any] = {}
    for text in texts:
        name, equals, bounds = text.partition("=")
        parts = bounds.split(":") if equals else []
        if (equals and len(parts) != 2) or not name.strip():
            raise ProblemError(
                "--unknown",
                expected="NAME=LOW:HIGH, or NAME",
                got=repr(text),
                remedy="Write for example --unknown D=100:3000.",
            )
        out[name.strip()] = tuple(number(p, "--unknown") for p in parts) if parts else None
    return out


def facts_of(fit: Fit) -> dict[str, Any]:
    """The fit as JSON."""
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


def teller(say: Callable[[str], object]) -> Callable[[FitProgress], object]:
    """A line for each solve."""

    def tell(progress: FitProgress) -> None:
        values = ", ".join(f"{k} = {v:.6g}" for k, v in progress.values.items())
        say(f"solve {progress.step:3d}: misfit {progress.misfit:.6g}, {values}")

    return tell
