"""Analysis of a problem before it is solved: one frozen value that every strategy reads.

Each part is computed when it is first needed: a smooth problem on a square needs neither singular functions
nor the pencil of its corners.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pibls.analysis.boundary_condition_count import (
    has_missing_boundary_conditions,
    redundant_boundary_conditions,
)
from pibls.analysis.corners.junctions import Junction, junctions_of
from pibls.analysis.corners.scalar_corners import Corner, strongest_corners
from pibls.analysis.corners.system_corners import SystemCorner, relevant_system_corners
from pibls.analysis.evolution import Evolution, evolution_of, redundant_initial_conditions
from pibls.analysis.flux_balance import FluxImbalance, flux_imbalance
from pibls.analysis.frobenius import SingularEnd, singular_ends
from pibls.analysis.missing_conditions import lacks_boundary_condition
from pibls.analysis.redundant_conditions import redundant_conditions
from pibls.analysis.singular_points import SingularPoint
from pibls.analysis.well_posedness import (
    has_missing_inflow_conditions,
    outflow_conditions,
    short_wave_growth,
)
from pibls.geometry import Domain
from pibls.problem import Problem
from pibls.problem.forms.compilation import CompiledProblem, Residual, compile_problem
from pibls.problem.interfaces.decomposition import SubdomainDecomposition, subdomain_decomposition
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.status import Status


@dataclass(frozen=True)
class IllPosedness:
    """Reason for which no basis can solve a problem."""

    status: Status
    """UNSTABLE, UNDETERMINED or NO_SOLUTION."""
    growth: float | None = None
    """Decimal digits by which short waves grow until the final time, of an unstable evolution."""
    imbalance: FluxImbalance | None = None
    """Sources and boundary flux that differ, of a problem in which all fluxes are given."""


@dataclass(frozen=True)
class Analysis:
    """What is known about a problem before it is solved, at its values of the parameters.

    >>> import sympy as sp, pibls
    >>> x, y = sp.symbols("x y")
    >>> u = sp.Function("u")(x, y)
    >>> poisson = pibls.Problem(
    ...     pibls.Box({x: (0, 1), y: (0, 1)}), [u.diff(x, 2) + u.diff(y, 2) + 1], [pibls.Dirichlet(u, 0)]
    ... )
    >>> poisson.analysis.order, poisson.analysis.evolution, len(poisson.analysis.corners)
    (2, None, 4)
    """

    problem: Problem = field(repr=False)

    @property
    def domain(self) -> Domain:
        return self.problem.domain

    @property
    def compiled(self) -> CompiledProblem:
        """The residuals as NumPy functions."""
        return compile_problem(self.problem)

    @property
    def order(self) -> int:
        """Order of the highest derivative."""
        return self.compiled.order

    @property
    def is_linear(self) -> bool:
        return self.compiled.is_linear

    @cached_property
    def evolution(self) -> Evolution | None:
        """Time coordinate and initial conditions; None for a stationary problem."""
        return evolution_of(self.compiled, self.domain)

    @cached_property
    def redundant_in_time(self) -> tuple[Residual, ...]:
        """Conditions that an evolution does not need: more initial values than its order, or at outflow."""
        check_deadline()
        arguments = self.compiled, self.domain
        found = (
            redundant_initial_conditions(*arguments)
            or outflow_conditions(*arguments)
            or redundant_boundary_conditions(*arguments)
        )
        return tuple(self.compiled.residuals[i] for i in found)

    @cached_property
    def ill_posedness(self) -> IllPosedness | None:
        """Reason for which the problem is ill-posed, whatever the basis; None if none was found."""
        check_deadline()
        arguments = self.compiled, self.domain
        growth = short_wave_growth(*arguments)
        if growth is not None:
            return IllPosedness(Status.UNSTABLE, growth=growth)
        if (
            has_missing_inflow_conditions(*arguments)
            or has_missing_boundary_conditions(*arguments)
            or lacks_boundary_condition(*arguments)
        ):
            return IllPosedness(Status.UNDETERMINED)
        imbalance = flux_imbalance(*arguments)
        return None if imbalance is None else IllPosedness(Status.NO_SOLUTION, imbalance=imbalance)

    @cached_property
    def redundant(self) -> tuple[Residual, ...]:
        """Conditions that the others seem to determine: they hold for the solution, or there is none."""
        check_deadline()
        return tuple(self.compiled.residuals[i] for i in redundant_conditions(self.compiled, self.domain))

    @cached_property
    def system_corners(self) -> tuple[SystemCorner, ...]:
        """Corners of a plane domain at which solutions of a system are singular."""
        check_deadline()
        return relevant_system_corners(self.compiled, self.domain)

    @cached_property
    def corners(self) -> tuple[Corner, ...]:
        """Corners of a plane domain at which solutions of scalar equations are singular, the strongest."""
        return () if self.system_corners else strongest_corners(self.compiled, self.domain)

    @cached_property
    def singular_ends(self) -> tuple[SingularEnd, ...]:
        """Ends of an interval at which the coefficient of the highest derivative vanishes."""
        check_deadline()
        return tuple(singular_ends(self.problem))

    @property
    def decomposition(self) -> SubdomainDecomposition | None:
        """Subdomains between slanted or curved interfaces, slits or characteristics."""
        return subdomain_decomposition(self.problem)

    @cached_property
    def junctions(self) -> tuple[Junction, ...]:
        """Points where interfaces end, meet or have corners."""
        if self.decomposition is None:
            return ()
        return tuple(junctions_of(self.compiled, self.domain, self.decomposition))

    @property
    def singular_points(self) -> tuple[SingularPoint, ...]:
        """All places near which the solution is not smooth."""
        return (*self.corners, *self.system_corners, *self.singular_ends, *self.junctions)

    def summary(self) -> str:
        """Return a description in a few lines."""
        return "\n".join(f"{name + ':':24s}{text}" for name, text in self.facts().items())

    def facts(self) -> dict[str, str]:
        """Return the findings by name, in words."""
        compiled, evolution = self.compiled, self.evolution
        kind = "linear" if compiled.is_linear else "nonlinear"
        many = "one equation" if compiled.unknowns == 1 else f"{compiled.unknowns} unknowns"
        out = {"equations": f"{kind}, order {compiled.order}, {many}, {compiled.dimension} coordinate(s)"}
        out["type"] = "stationary" if evolution is None else self._describe_evolution(evolution)
        if self.ill_posedness is not None:
            out["well-posedness"] = self.ill_posedness.status.value
        redundant = [r.name for r in (*self.redundant_in_time, *self.redundant)]
        if redundant:
            out["redundant conditions"] = ", ".join(redundant)
        planes = len(self.problem.breaks.planes)
        if planes:
            out["discontinuities"] = f"on {planes} plane(s) inside the domain"
        if self.decomposition is not None:
            out["subdomains"] = str(len(self.decomposition))
        if self.singular_points:
            out["singular points"] = self._describe_singular_points()
        return out

    def _describe_singular_points(self) -> str:
        kinds = Counter((p.reason, p.strength.name.lower()) for p in self.singular_points)
        return ", ".join(f"{n} × {reason} ({strength})" for (reason, strength), n in kinds.items())

    def _describe_evolution(self, evolution: Evolution) -> str:
        name = self.problem.coordinates[evolution.axis]
        order = max(evolution.orders)
        return f"evolution in {name} from {evolution.start:g} to {evolution.stop:g}, order {order} in time"


def analyze(problem: Problem) -> Analysis:
    """Return the analysis of a problem; the same object for the same problem."""
    return problem.memo(Analysis)
