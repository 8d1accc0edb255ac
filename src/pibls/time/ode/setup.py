"""Equations, collocation tables and initial values of an ordinary differential equation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pibls.analysis.evolution import Evolution
from pibls.assembly.evolutions.ode_equations import ODESystem
from pibls.basis.polynomials.radau import Radau
from pibls.problem.forms.compilation import CompiledProblem
from pibls.time.ode.collocation import Collocation
from pibls.time.ode.initial_values import InitialValues, initial_values
from pibls.time.thresholds import ODE


@dataclass(frozen=True)
class ODESetup:
    """What is computed once per problem: equations, collocation tables and initial values."""

    collocation: Collocation
    initial_values: InitialValues


def ode_setup(compiled: CompiledProblem, e: Evolution | None) -> ODESetup | None:
    """Return the setup of an ODE initial value problem with as many equations as unknowns; else None."""
    inside = tuple(r for r in compiled.residuals if r.region.is_interior)
    equations = replace(compiled, residuals=inside)
    if e is None or compiled.dimension != 1 or len(equations.residuals) != compiled.unknowns:
        return None
    if (
        len(equations.residuals) + len(e.initial_conditions) != len(compiled.residuals)
        or compiled.interfaces.flux_planes
    ):
        return None
    system = ODESystem.of(equations, e.orders, e.start)
    found_values = initial_values(compiled, e, system.groups)
    if found_values is None:
        return None
    points = ODE.collocation_points[compiled.unknowns >= ODE.many_unknowns]
    return ODESetup(Collocation(system, Radau.of(points, max(e.orders))), found_values)
