"""Export of values on a grid as an xarray Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy.typing as npt

from pibls.errors import import_optional
from pibls.exchange.metadata import metadata
from pibls.expressions import Expression
from pibls.sampling import computed_domain, fields_of, grid_of, units_of
from pibls.solution import Solution

if TYPE_CHECKING:
    import xarray


def to_xarray(
    solution: Solution,
    /,
    *what: Expression,
    units: Mapping[Expression | str, str] | None = None,
    **grid: npt.ArrayLike,
) -> xarray.Dataset:
    """Return an xarray Dataset with one variable per requested field and one dimension per coordinate.

    By default the fields are all unknowns. Attributes hold names, units and the estimated error of unknowns.

    See `Solution.to_xarray`.
    """
    xarray = import_optional("xarray", extra="exchange", purpose="to_xarray")
    fields = fields_of(solution, what)
    mesh = grid_of(computed_domain(solution), grid)
    unit = units_of(solution.problem, units)
    variables = {}
    for field in fields:
        notes: dict[str, str | float] = {"long_name": field.name, "expression": str(field.expression)}
        if field.expression in solution.problem.unknowns:
            notes["estimated_max_error"] = float(solution[field.expression].error.max)
        variables[field.name] = (mesh.names, mesh.sample(field), {**notes, **_unit(unit, field.name)})
    coordinates = {
        name: ((name,), values, {"long_name": name} | _unit(unit, name))
        for name, values in zip(mesh.names, mesh.axes, strict=True)
    }
    return xarray.Dataset(variables, coordinates, metadata(solution))


def _unit(units: Mapping[str, str], name: str) -> dict[str, str]:
    return {"units": units[name]} if name in units else {}
