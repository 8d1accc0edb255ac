"""Decomposition of the domain into subdomains in which coefficients and sources are smooth.

The switching surfaces of the equations (`switches`) divide the domain; the conditions between two subdomains
are in `interface_conditions`. Around the tips of slits and the corners of inclusions, subdomains are divided
further by branch cuts (`geometry.subdomains.cut_lines`), across which all derivatives are continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.arrays import Array, Indices
from pibls.errors import ProblemError
from pibls.geometry import Domain, Face, faces_of, space_of, time_of
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.subdomains.cut_lines import CutLine, branch_cuts, slit_segments
from pibls.geometry.subdomains.partition import Partition, UniformMaterial
from pibls.geometry.subdomains.subdomain import Subdomain
from pibls.geometry.subdomains.tiling import Tiling
from pibls.problem.forms.compilation import Residual, compile_form
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.characteristics import characteristics_of
from pibls.problem.interfaces.discontinuities import (
    Discontinuities,
    SwitchContext,
    points_on_both_sides,
    switch_axes,
)
from pibls.problem.interfaces.interface_conditions import interface_conditions, smoothness_conditions
from pibls.problem.interfaces.materials import Materials
from pibls.problem.interfaces.switches import Switch
from pibls.problem.problem import Problem
from pibls.problem.regions import Interface, SubdomainRegion
from pibls.runtime.caching import cached_property

_MAX_SUBDOMAINS = 40
_MAX_BRANCH_CUTS = 24


@dataclass(frozen=True)
class SubdomainDecomposition:
    """The subdomains of a problem and the conditions between them."""

    domain: Domain
    partition: Partition | Tiling
    unknowns: int
    interface_residuals: tuple[Residual, ...] = field(repr=False)
    """Conditions on the interfaces; the unknown k of subdomain p has the number p·unknowns + k."""
    interface_faces: tuple[tuple[Face, ...], ...] = field(default=(), repr=False)
    """For each subdomain its faces towards others, in the domain of the partition."""
    is_optional: bool = False
    """Whether the problem can also be solved without the decomposition."""

    def __len__(self) -> int:
        return len(self.partition)

    def locate(self, X: Array) -> Indices:
        """Return the subdomain number of each point."""
        return self.partition.locate(X[:, : len(self.partition.domain.coordinates)])

    def subdomain(self, number: int) -> Subdomain:
        """Return a subdomain as a domain."""
        return Subdomain(self.domain, self.partition, number)

    @cached_property
    def closed_subdomains(self) -> tuple[Subdomain, ...]:
        """The subdomains of the domain of the partition (without time), each with its whole boundary."""
        ground = self.partition.domain
        return tuple(
            Subdomain(ground, self.partition, i, inner) for i, inner in enumerate(self.interface_faces)
        )

    def residual_in(self, residual: Residual, subdomains: tuple[int, ...]) -> Residual:
        """Return a residual in terms of the unknowns of subdomains, one for each of its sites."""

        def moved(derivatives: tuple[PartialDerivative, ...]) -> tuple[PartialDerivative, ...]:
            return tuple(
                replace(j, unknown=subdomains[j.site] * self.unknowns + j.unknown) for j in derivatives
            )

        return replace(
            residual,
            linear=moved(residual.linear),
            nonlinear=moved(residual.nonlinear),
            region=SubdomainRegion(residual.region, subdomains),
        )


def subdomain_decomposition(problem: Problem) -> SubdomainDecomposition | None:
    """Return the decomposition of a problem; None if it has no slanted or curved interfaces."""
    return problem.memo(_decompose)


def _decompose(problem: Problem) -> SubdomainDecomposition | None:
    forms = [s.form for s in problem.statements if s.region.is_interior]
    switches = list(
        dict.fromkeys(s for f in forms for s in f.switches if not (s.at_integers or s.is_singular))
    )
    slits = slit_segments(problem.domain) if _is_flat(problem) else ()
    if not (slits or _has_dividing_interfaces(problem, switches)):
        return _characteristic_decomposition(problem)
    context = problem.switch_context()
    ground = _divided_domain(problem.domain, switches, context)
    if len(ground.coordinates) not in (2, 3):
        return None
    materials = Materials(forms, switches, context, ground)
    faces = materials.faces()
    if not faces and not slits:
        return None
    partition = Partition.of(ground, materials, faces, slits)
    _check_subdomain_count(partition)  # branch cuts only increase the number
    if _is_flat(problem):
        partition = _with_branch_cuts(partition, materials, faces, slits)
    if len(partition) < 2:
        return None
    _check_subdomain_count(partition)
    inner: list[tuple[Face, ...]] = [()] * len(partition)
    between: list[Residual] = []
    for (p, q), found in partition.interfaces(faces).items():
        inner[p], inner[q] = (*inner[p], *found), (*inner[q], *found)
        between += _interface_residuals(problem, forms, materials, partition, (p, q), found)
    return SubdomainDecomposition(
        problem.domain, partition, len(problem.unknowns), tuple(between), tuple(inner)
    )


def _with_branch_cuts(
    partition: Partition, materials: Materials, faces: Sequence[Face], slits: Sequence[CutLine]
) -> Partition:
    """Return a plane partition divided further by branch cuts, unless there are too many."""
    ground = partition.domain
    between_two = [f for some in partition.interfaces(faces).values() for f in some]
    cuts = branch_cuts(ground, slits, between_two, partition.locate)
    if 0 < len(cuts) <= _MAX_BRANCH_CUTS:
        return Partition.of(ground, materials, faces, slits, cuts)
    return partition


def _is_flat(problem: Problem) -> bool:
    """Return whether the domain is plane and has no time coordinate."""
    return len(problem.domain.coordinates) == 2 and time_of(problem.domain) is None


def _has_dividing_interfaces(problem: Problem, switches: Sequence[Switch]) -> bool:
    """Return whether slanted or curved interfaces, or planes that meet in a corner, divide the domain."""
    context = problem.switch_context()
    for s in switches:
        if len(switch_axes(s, context)) > 1 and points_on_both_sides(s, context) is not None:
            return True
    return _is_flat(problem) and _has_crossing_interfaces(problem.breaks)


def _divided_domain(domain: Domain, switches: Sequence[Switch], context: SwitchContext) -> Domain:
    """Return the domain, without time if no interface moves."""
    time = len(context.box) - 1
    moving = any(time in switch_axes(s, context) for s in switches)
    return domain if moving or time_of(domain) is None else space_of(domain)


def _interface_residuals(
    problem: Problem,
    forms: Sequence[Form],
    materials: Materials,
    partition: Partition,
    pair: tuple[int, int],
    faces: tuple[Face, ...],
) -> list[Residual]:
    """Return the conditions between two subdomains on their common faces."""
    domain, values = problem.domain, tuple(v for _, v in problem.parameter_values)
    if partition.domain is not domain:
        start, stop = (float(v) for v in problem.switch_context().box[-1])
        faces = tuple(ExtrudedFace(face, start, stop) for face in faces)
    boxes = [Subdomain(domain, partition, i).bounds for i in pair]
    lengths = np.min([b[:, 1] - b[:, 0] for b in boxes], axis=0)
    region = Interface(pair, tuple(lengths.tolist()), faces)
    n, symbols = len(problem.unknowns), problem.symbol_table()
    if partition.have_same_material(*pair):
        statements = smoothness_conditions(forms, pair, n, symbols)
    else:
        branches = [materials.branches(partition.samples[i][0]) for i in pair]
        statements = interface_conditions(forms, branches, pair, n, symbols)
    return [compile_form(form, region).at(values) for form in statements]


def _characteristic_decomposition(problem: Problem) -> SubdomainDecomposition | None:
    """Return the subdomains between the characteristics along which kinks propagate."""
    found = characteristics_of(problem)
    if found is None:
        return None
    values = tuple(v for _, v in problem.parameter_values)
    between: list[Residual] = []
    inner: list[tuple[Face, ...]] = [()] * len(found.tiling)
    for pair, face, statements in found.between:
        boxes = np.array([found.tiling.box(i) for i in pair])
        region = Interface(pair, tuple(np.ptp(boxes, axis=2).min(axis=0).tolist()), (face,))
        between += [compile_form(form, region).at(values) for form in statements]
        for i in pair:
            inner[i] = (*inner[i], face)
    unknowns = len(problem.unknowns)
    return SubdomainDecomposition(
        problem.domain, found.tiling, unknowns, tuple(between), tuple(inner), is_optional=True
    )


def _check_subdomain_count(partition: Partition) -> None:
    if len(partition) > _MAX_SUBDOMAINS:
        raise ProblemError(
            "problem",
            expected="coefficients and sources that divide the domain into at most "
            f"{_MAX_SUBDOMAINS} subdomains",
            got=f"{len(partition)}",
            remedy="Smooth the jumps, for example with tanh((x - a)/width), or use a smaller domain.",
        )


def _has_crossing_interfaces(breaks: Discontinuities) -> bool:
    """Return whether coefficients of fluxes jump on planes of both coordinates, which meet in a corner."""
    return len({p.axis for p in breaks.planes if p.coefficient_jumps}) > 1 and not breaks.sources


def single_subdomain(problem: Problem) -> SubdomainDecomposition | None:
    """Return a domain with cavities as a single subdomain; None if it has no cavities."""
    domain = problem.domain
    known = len(domain.coordinates) in (2, 3) and time_of(domain) is None
    if not known or any(s.region.is_integral for s in problem.statements):
        return None
    if all(face.plane() is not None for face in faces_of(domain)):
        return None
    partition = Partition.of(domain, UniformMaterial(), ())
    if len(partition) > 1 or not partition.cavities(0):
        return None
    return SubdomainDecomposition(domain, partition, len(problem.unknowns), ())
