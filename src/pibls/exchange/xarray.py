"""Export of values on a grid as an xarray Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pibls.errors import import_optional
from pibls.exchange.metadata import metadata
from pibls.sampling import computed_domain, fields_of, grid_of, units_of
from pibls.solution import Solution


def to_xarray(solution: Solution, /, *what: Any, units: Mapping[Any, str] | None = None, **grid: Any) -> Any:
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
        notes: dict[str, Any] = {"long_name": field.name, "expression": str(field.expression)}
        if field.expression in solution.problem.unknowns:
            notes["estimated_max_error"] = float(solution[field.expression].error.max)
        variables[field.name] = (mesh.names, mesh.sample(field), notes | _unit(unit, field.name))
    coordinates = {
        name: ((name,), values, {"long_name": name} | _unit(unit, name))
        for name, values in zip(mesh.names, mesh.axes, strict=True)
    }
    return xarray.Dataset(variables, coordinates, metadata(solution))


def _unit(units: Mapping[str, str], name: str) -> dict[str, str]:
    return {"units": units[name]} if name in units else {}
