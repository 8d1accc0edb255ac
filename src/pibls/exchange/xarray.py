"""A grid of values with names: an xarray Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pibls.errors import need
from pibls.exchange.about import about
from pibls.sampling import fields_of, grid_of, reach_of, units_of
from pibls.solution import Solution


def to_xarray(solution: Solution, /, *what: Any, units: Mapping[Any, str] | None = None, **grid: Any) -> Any:
    """An xarray Dataset: one variable per unknown, one named dimension per coordinate.

    `Solution.to_xarray` says more.
    """
    xarray = need("xarray", extra="exchange", purpose="to_xarray")
    fields = fields_of(solution, what)
    mesh = grid_of(reach_of(solution), grid)
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
    return xarray.Dataset(variables, coordinates, about(solution))


def _unit(units: Mapping[str, str], name: str) -> dict[str, str]:
    return {"units": units[name]} if name in units else {}
