"""Decomposition of the domain into subdomains in which coefficients and sources are smooth.

The switching surfaces of the equations (`switches`) divide the domain; the conditions between two subdomains
are in `interface_conditions`. Around the tips of slits and the corners of inclusions, subdomains are divided
further by branch cuts (`geometry.subdomains.cut_lines`), across which all derivatives are continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array, Numbers
from pibls.errors import ProblemError
from pibls.geometry import Domain, Face, box_of, faces_of, space_of, time_of
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.faces.level_set import LevelSet
from pibls.geometry.subdomains.cut_lines import branch_cuts, slit_segments
from pibls.geometry.subdomains.partition import Partition
from pibls.geometry.subdomains.subdomain import Subdomain
from pibls.geometry.subdomains.tiling import Tiling
from pibls.problem.forms.compilation import Residual, compile_form
from pibls.problem.forms.compiled_expressions import compile_expressions
from pibls.problem.forms.form import Form, PartialDerivative
from pibls.problem.interfaces.branches import Value, branch_at
from pibls.problem.interfaces.characteristics import characteristics_of
from pibls.problem.interfaces.discontinuities import (
    Discontinuities,
    SwitchContext,
    points_on_both_sides,
    switch_axes,
)
from pibls.problem.interfaces.interface_conditions import interface_conditions, smoothness_conditions
from pibls.problem.interfaces.switches import SWITCHING_FUNCTIONS, Switch, find_switches
from pibls.problem.problem import Problem
from pibls.problem.regions import Interface, SubdomainRegion
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline

_MAX_SUBDOMAINS = 40
_MAX_BRANCH_CUTS = 24
_PROPORTIONAL_TOLERANCE = 1e-9  # relative
_BRANCH_SAMPLES = 64  # points at which the branches of a nonsmooth switching function are determined


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

    def locate(self, X: Array) -> Numbers:
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
    return problem.cached("materials", lambda: _decompose(problem))


def _decompose(problem: Problem) -> SubdomainDecomposition | None:
    forms = [s.form for s in problem.statements if s.region.is_interior]
    context = problem.switch_context()
    switches = list(
        dict.fromkeys(s for f in forms for s in f.switches if not (s.at_integers or s.is_singular))
    )
    axes = [switch_axes(s, context) for s in switches]
    domain, time = problem.domain, time_of(problem.domain)
    flat = len(domain.coordinates) == 2 and time is None
    slits = slit_segments(domain) if flat else ()
    has_curved_interface = any(
        len(a) > 1 and points_on_both_sides(s, context) is not None
        for s, a in zip(switches, axes, strict=True)
    )
    if not (has_curved_interface or slits or (flat and _has_crossing_interfaces(problem.breaks))):
        return _characteristic_decomposition(problem)
    moving = time is not None and any(len(context.box) - 1 in a for a in axes)
    ground = domain if moving or time is None else space_of(domain)
    d = len(ground.coordinates)
    if d not in (2, 3):
        return None
    functions = _distinct_functions(switches, context, ground)
    materials = _Materials(forms, functions, context, d)
    faces = [
        f
        for g in functions
        for smooth in materials.smooth(g, ground)
        for f in _faces(smooth, context, ground)
    ]
    if not faces and not slits:
        return None
    partition = Partition.of(ground, materials, faces, slits)
    _check_subdomain_count(partition)  # branch cuts only increase the number
    if flat:
        between_two = [f for some in partition.interfaces(faces).values() for f in some]
        cut_faces = branch_cuts(ground, slits, between_two, partition.locate)
        if 0 < len(cut_faces) <= _MAX_BRANCH_CUTS:
            partition = Partition.of(ground, materials, faces, slits, cut_faces)
    if len(partition) < 2:
        return None
    _check_subdomain_count(partition)
    values = tuple(v for _, v in problem.parameter_values)
    between: list[Residual] = []
    inner: list[tuple[Face, ...]] = [()] * len(partition)
    for (p, q), found in partition.interfaces(faces).items():
        inner[p], inner[q] = (*inner[p], *found), (*inner[q], *found)
        if ground is not domain:
            start, stop = (float(v) for v in context.box[-1])
            found = tuple(ExtrudedFace(face, start, stop) for face in found)
        boxes = [Subdomain(domain, partition, i).bounds for i in (p, q)]
        lengths = np.min([b[:, 1] - b[:, 0] for b in boxes], axis=0)
        region = Interface((p, q), tuple(lengths.tolist()), found)
        n, symbols = len(problem.unknowns), problem.symbol_table()
        if partition.have_same_material(p, q):
            statements = smoothness_conditions(forms, (p, q), n, symbols)
        else:
            branches = [materials.branches(partition.samples[i][0]) for i in (p, q)]
            statements = interface_conditions(forms, branches, (p, q), n, symbols)
        between += [compile_form(form, region).at(values) for form in statements]
    return SubdomainDecomposition(domain, partition, len(problem.unknowns), tuple(between), tuple(inner))


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


class _Materials:
    """Maps points to numbers of materials, that is, of branches of all expressions.

    The branches at a point are determined by the signs of all switching functions.
    """

    def __init__(
        self, forms: Sequence[Form], functions: Sequence[Any], context: SwitchContext, d: int
    ) -> None:
        self._expressions = [e for form in forms for e in _all_expressions(form)]
        self._forms, self._context, self._d = forms, context, d
        self._signs = compile_expressions(context.variables.coordinates[:d], list(functions))
        self._known: dict[bytes, int] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}

    def levels(self, X: Array) -> Array:
        """Return the values of all switching functions, (n, functions)."""
        with np.errstate(all="ignore"):
            values = self._signs(*X.T)
        return np.column_stack([np.empty((len(X), 0)), *(np.asarray(v) + np.zeros(len(X)) for v in values)])

    def __call__(self, X: Array) -> Numbers:
        signs = self.levels(X) > 0
        if not signs.shape[1]:
            return np.zeros(len(X), dtype=np.intp)
        # As integers of 62 bits, which are compared ten times as fast as rows.
        parts = np.split(signs, range(62, signs.shape[1], 62), axis=1)
        codes = np.column_stack([bits @ (1 << np.arange(bits.shape[1])) for bits in parts])
        axis = None if codes.shape[1] == 1 else 0
        _, first, index = np.unique(codes, axis=axis, return_index=True, return_inverse=True)
        numbers = [self._number(codes[i].tobytes(), X[i]) for i in first]
        return np.array(numbers, dtype=np.intp)[np.reshape(index, -1)]

    def _number(self, pattern: bytes, x: Array) -> int:
        if pattern not in self._known:
            value = self._value(x)
            branch = tuple(branch_at(e, value) for e in self._expressions)
            self._known[pattern] = self._numbers.setdefault(branch, len(self._numbers))
        return self._known[pattern]

    def branches(self, x: Array) -> list[tuple[Form, ...]]:
        """Return, for each equation, its fluxes and the form without fluxes, with the branches at x."""
        value = self._value(x)
        return [
            (
                *(_with_branches(f.form, value) for f in form.fluxes),
                _with_branches(form.without_fluxes or form, value),
            )
            for form in self._forms
        ]

    def smooth(self, g: Any, ground: Domain) -> list[Any]:
        """Return the branches of a switching function, several if it is nonsmooth like Max(1, sign(x))."""
        if not g.has(*SWITCHING_FUNCTIONS):
            return [g]
        X = np.asarray(ground.interior(_BRANCH_SAMPLES, np.random.default_rng(0)), dtype=float)
        return [e for e in dict.fromkeys(branch_at(g, self._value(p)) for p in X) if not e.is_number]

    def _value(self, x: Array) -> Value:
        v = self._context.variables
        point = dict(zip(v.coordinates[: self._d], x.tolist(), strict=True))

        def value(e: Any) -> float | None:
            fixed = self._context.with_parameters(e)
            if not fixed.free_symbols <= point.keys():
                return None
            with np.errstate(all="ignore"):
                columns = [np.array([point[c]]) for c in point]
                return float(np.ravel(compile_expressions(list(point), [fixed])(*columns)[0])[0])

        return value


def _all_expressions(form: Form) -> list[Any]:
    inner = [e for f in form.fluxes for e in _all_expressions(f.form)]
    return [form.rest, *(a for _, a in form.linear), *form.partials, *inner]


def _with_branches(form: Form, value: Value) -> Form:
    """Return a form with the branches of one side."""
    return replace(
        form,
        linear=tuple((j, branch_at(a, value)) for j, a in form.linear),
        rest=branch_at(form.rest, value),
        partials=tuple(branch_at(p, value) for p in form.partials),
    )


def _distinct_functions(switches: Sequence[Switch], context: SwitchContext, ground: Domain) -> list[Any]:
    """Return the distinct switching functions; multiples of each other count once."""
    X = np.asarray(ground.interior(512, np.random.default_rng(0)), dtype=float)
    d = X.shape[1]
    out: list[tuple[Any, Array]] = []
    for switch in switches:
        g = context.with_parameters(switch.expression)
        with np.errstate(all="ignore"):
            values = np.asarray(
                compile_expressions(context.variables.coordinates[:d], [g])(*X.T)[0]
            ) + np.zeros(len(X))
        if not any(_are_proportional(values, other) for _, other in out):
            out.append((g, values))
    return [g for g, _ in out]


def _are_proportional(a: Array, b: Array) -> bool:
    with np.errstate(all="ignore"):
        ratio = a / b
    ratio = ratio[np.isfinite(ratio)]
    return bool(len(ratio) and ratio.max() - ratio.min() <= _PROPORTIONAL_TOLERANCE * np.abs(ratio).max())


def _faces(g: Any, context: SwitchContext, ground: Domain) -> tuple[Face, ...]:
    """Return the faces of {g = 0} in the bounding box: the boundary of a shape, or a level set."""
    check_deadline(__name__)
    d = len(ground.coordinates)
    coordinates = context.variables.coordinates[:d]
    for f in g.atoms(AppliedUndef):
        shape = getattr(f.func, "shape", None)
        if shape is not None and f.args == coordinates:
            return faces_of(shape)
        if shape is not None and f.args == coordinates[:-1]:
            low, high = (float(v) for v in box_of(ground)[-1])
            return tuple(ExtrudedFace(face, low, high) for face in faces_of(shape))
    return LevelSet(g, coordinates, "problem: an interface").faces(box_of(ground), g)


def single_subdomain(problem: Problem) -> SubdomainDecomposition | None:
    """Return a domain with cavities as a single subdomain; None if it has no cavities."""
    domain = problem.domain
    known = len(domain.coordinates) in (2, 3) and time_of(domain) is None
    if not known or any(s.region.is_integral for s in problem.statements):
        return None
    if all(face.plane() is not None for face in faces_of(domain)):
        return None
    partition = Partition.of(domain, lambda X: np.zeros(len(X), dtype=np.intp), ())
    if len(partition) > 1 or not partition.cavities(0):
        return None
    return SubdomainDecomposition(domain, partition, len(problem.unknowns), ())


def refuse_unsupported_interfaces(problem: Problem) -> None:
    """Raise a ProblemError for jumps on slanted or curved surfaces that are not supported."""
    jumps = [str(s.expression) for s in problem.breaks.curved if s.coefficient_jumps]
    found = subdomain_decomposition(problem)
    switches = [s for statement in problem.statements for s in statement.form.switches]
    at_integers = any(s.at_integers and len(switch_axes(s, problem.switch_context())) > 1 for s in switches)
    if jumps and (found is None or at_integers):
        raise ProblemError(
            "problem",
            expected="fluxes whose coefficients jump on coordinate planes, or where an expression of two or "
            "three coordinates is zero",
            got=f"a jump at {', '.join(jumps[:3])}",
            remedy="Write it with Piecewise, one formula on each side. Other cases are not supported yet: "
            "smooth the jump, for example with tanh((x - a)/width).",
        )
    if found is None:
        return
    if problem.breaks.sources:
        raise ProblemError(
            "problem",
            expected="no DiracDelta together with jumps on a slanted or curved surface",
            got="both",
            remedy="This is not supported yet: use a narrow exp(-((x - a)/w)**2) for the source.",
        )
    if found.partition.domain is problem.domain and time_of(problem.domain) is not None:
        for s in problem.statements:
            if s.region.is_integral:
                raise ProblemError(
                    s.name,
                    expected="no integral together with jumps on a moving surface",
                    got="an integral",
                    remedy="This is not supported yet: fix the value at a point instead, on={x: 0, y: 0}.",
                )


def refuse_moving_interfaces(problem: Problem, symbols: Sequence[Any], argument: str) -> None:
    """Raise a ProblemError if a parameter moves an interface."""
    for equation in problem.equations:
        residual = equation.lhs - equation.rhs if isinstance(equation, sp.Equality) else sp.sympify(equation)
        for switch in find_switches(residual, problem.coordinates, ()):
            moving = switch.expression.free_symbols & set(symbols)
            if moving and not switch.is_singular:
                raise ProblemError(
                    argument,
                    expected="parameters that do not move jumps",
                    got=f"{sorted(map(str, moving))[0]}, which moves a jump",
                    remedy="Fix it, or replace the jump by a steep smooth function such as tanh.",
                )
