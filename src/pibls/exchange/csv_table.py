"""Export of a table of values as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from pibls.errors import output_path
from pibls.expressions import Expression
from pibls.sampling import computed_domain, fields_of, grid_of
from pibls.solution import Solution


def to_csv(solution: Solution, path: str | Path, /, *what: Expression, **grid: npt.ArrayLike) -> Path:
    """Write a table with a column for each coordinate and each unknown, and a row for each point.

    See `Solution.to_csv`.
    """
    path = output_path(path, "solution.to_csv(path)")
    fields = fields_of(solution, what)
    mesh = grid_of(computed_domain(solution), grid)
    X = mesh.points()[mesh.inside().ravel()]
    columns = np.column_stack([X, *(field(X) for field in fields)])
    names = [*mesh.names, *(f.name for f in fields)]
    header = ",".join('"' + n.replace('"', '""') + '"' if "," in n or '"' in n else n for n in names)
    np.savetxt(path, columns, fmt="%s", delimiter=",", header=header, comments="", encoding="utf-8")
    return path
