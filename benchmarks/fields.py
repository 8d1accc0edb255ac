"""Solutions and errors of the eleven cases on a regular grid, for the figures.

    python -m benchmarks.fields                  # all eleven, about a minute
    python -m benchmarks.fields --case TC-5

One .npz per case in docs/benchmarks/data-fields: ``axis0`` (and ``axis1``), ``automatic``, the solution of
`solve(problem, tol=1e-13)`, its error ``automatic_error`` and the error of the published settings,
``published_error``. The differences are formed in double precision and stored in single.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import pibls
from benchmarks.measure import threads
from pibls.arrays import Array
from pibls.cases.case import Case

FIELDS = Path(__file__).resolve().parents[1] / "docs" / "benchmarks" / "data-fields"
TOLERANCE = 1e-13
SEED = 0

# A few hundred points show every oscillation of TC-9; 61² in the plane keep the files small.
_POINTS = {1: 401, 2: 61}


def axes_of(case: Case) -> list[Array]:
    """Return the grid points along each coordinate, end points included."""
    bounds = np.asarray(case.problem.domain.bounds, dtype=float)
    return [np.linspace(low, high, _POINTS[len(bounds)]) for low, high in bounds]


def measure_case(case: Case) -> dict[str, Array]:
    """Return the arrays of one case: grid, solution and errors."""
    axes = axes_of(case)
    X = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    shape = tuple(len(a) for a in axes)
    exact = case.exact(*X.T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        automatic = pibls.solve(case.problem, tol=TOLERANCE, seed=SEED)(*X.T)
        published = pibls.solve(case.problem, seed=SEED, **case.published.settings)(*X.T)
    fields = {
        "automatic": automatic,
        "automatic_error": automatic - exact,
        "published_error": published - exact,
    }
    found = {name: values.reshape(shape).astype(np.float32) for name, values in fields.items()}
    return {**{f"axis{i}": a for i, a in enumerate(axes)}, **found}


def write(name: str, fields: Mapping[str, Array], folder: Path = FIELDS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.npz"
    np.savez_compressed(path, allow_pickle=False, **fields)
    return path


def read(name: str, folder: Path = FIELDS) -> dict[str, Array] | None:
    """Return the stored arrays of a case, or None if there are none."""
    path = folder / f"{name}.npz"
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as stored:
        return {key: np.asarray(stored[key], dtype=float) for key in stored.files}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", choices=list(pibls.cases), help="default: all")
    parser.add_argument("--out", type=Path, default=FIELDS, help="output folder")
    arguments = parser.parse_args(words)
    for name in arguments.case or list(pibls.cases):
        fields = measure_case(pibls.cases[name])
        path = write(name, fields, arguments.out)
        worst = {k: f"{np.abs(v).max():.1e}" for k, v in fields.items() if k.endswith("error")}
        print(f"{name:6s} {worst} {path.stat().st_size / 1024:.1f} KB", flush=True)


if __name__ == "__main__":
    with threads(1):
        main()
