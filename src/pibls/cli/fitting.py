"""pibls fit: the data of a problem file, or of a CSV file, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pibls.errors import ProblemError

if TYPE_CHECKING:
    from pibls.inverse import Data, Fit, FitProgress
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
        entries = entries_for(file.problem, list(read_table(given).columns))
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
    return dict(map(_wanted, texts))


def _wanted(text: str) -> tuple[str, tuple[float, float] | None]:
    """NAME=LOW:HIGH, or NAME: what is wanted, and where it may lie."""
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
