r"""x ∈ Ω_p: the pieces in which all laws of a problem are smooth, where coefficients or sources jump.

The switches of the equations (`switches`) cut the domain; what holds between two pieces is `continuity`.
Around the tip of a slit, and at the corners of an inclusion, pieces are divided further by seams
(`domain.pieces.cuts`), across which all is continuous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import Array, Numbers
from pibls.caching import cached_property
from pibls.deadline import go_on
from pibls.errors import ProblemError
from pibls.geometry import Domain, Face, box_of, faces_of, space_of, time_of
from pibls.geometry.faces.extruded import Extruded
from pibls.geometry.faces.level import Level
from pibls.geometry.subdomains.cuts import seams_of, walls_of
from pibls.geometry.subdomains.division import Division
from pibls.geometry.subdomains.piece import Piece
from pibls.geometry.subdomains.tiling import Tiling
from pibls.problem.forms.form import Form, Jet
from pibls.problem.forms.lowering import Residual, lower_form
from pibls.problem.forms.program import program
from pibls.problem.interfaces.characteristics import characteristics_of
from pibls.problem.interfaces.continuity import along_seam, continuity
from pibls.problem.interfaces.laws import Value, law_at
from pibls.problem.interfaces.planes import Breaks, SwitchBox, axes_of, sides_of
from pibls.problem.interfaces.switches import SWITCHING, Switch, switches_in
from pibls.problem.problem import Problem
from pibls.problem.regions import Interface, Within

_PIECES = 40
_SEAMS = 24
_SAME = 1e-9
_LAWS = 64  # places at which a cut that itself switches is looked at


@dataclass(frozen=True)
class Materials:
    """The pieces of a problem's domain, and what holds between them."""

    domain: Domain
    division: Division | Tiling
    unknowns: int
    between: tuple[Residual, ...] = field(repr=False)
    """On interfaces; the unknown k of piece p has the number p·unknowns + k."""
    inner: tuple[tuple[Face, ...], ...] = field(default=(), repr=False)
    """For each piece its faces towards others, in the domain that is divided."""
    optional: bool = False
    """Whether the problem is one without pieces, too."""

    def __len__(self) -> int:
        return len(self.division)

    def locate(self, X: Array) -> Numbers:
        """The piece of each point."""
        return self.division.locate(X[:, : len(self.division.domain.coordinates)])

    def piece(self, number: int) -> Piece:
        """A piece as a domain."""
        return Piece(self.domain, self.division, number)

    @cached_property
    def closed(self) -> tuple[Piece, ...]:
        """The pieces of the domain that is divided, each with all of its boundary."""
        ground = self.division.domain
        return tuple(Piece(ground, self.division, i, inner) for i, inner in enumerate(self.inner))

    def own(self, residual: Residual, pieces: tuple[int, ...]) -> Residual:
        """A statement about the unknowns of some pieces, one for each of its sites."""

        def moved(jets: tuple[Jet, ...]) -> tuple[Jet, ...]:
            return tuple(replace(j, unknown=pieces[j.site] * self.unknowns + j.unknown) for j in jets)

        return replace(
            residual,
            linear=moved(residual.linear),
            nonlinear=moved(residual.nonlinear),
            region=Within(residual.region, pieces),
        )


def materials_of(problem: Problem) -> Materials | None:
    """The pieces of a problem; None where nothing jumps or bends on a slanted or curved surface."""
    return problem.once("materials", lambda: _divided(problem))


def _divided(problem: Problem) -> Materials | None:
    forms = [s.form for s in problem.statements if s.region.is_inside]
    place = problem.place()
    switches = list(dict.fromkeys(s for f in forms for s in f.switches if not (s.whole or s.hidden)))
    axes = [axes_of(s, place) for s in switches]
    domain, time = problem.domain, time_of(problem.domain)
    flat = len(domain.coordinates) == 2 and time is None
    walls = walls_of(domain) if flat else ()
    slanted = any(len(a) > 1 and sides_of(s, place) is not None for s, a in zip(switches, axes, strict=True))
    if not (slanted or walls or (flat and _cross(problem.breaks))):
        return _travelling(problem)
    moving = time is not None and any(len(place.box) - 1 in a for a in axes)
    ground = domain if moving or time is None else space_of(domain)
    d = len(ground.coordinates)
    if d not in (2, 3):
        return None
    cuts = _distinct(switches, place, ground)
    kinds = _Kinds(forms, cuts, place, d)
    faces = [f for g in cuts for smooth in kinds.smooth(g, ground) for f in _faces(smooth, place, ground)]
    if not faces and not walls:
        return None
    division = Division.of(ground, kinds, faces, walls)
    _refuse_many(division)  # seams only divide further
    if flat:
        between_two = [f for some in division.interfaces(faces).values() for f in some]
        seams = seams_of(ground, walls, between_two, division.locate)
        if 0 < len(seams) <= _SEAMS:
            division = Division.of(ground, kinds, faces, walls, seams)
    if len(division) < 2:
        return None
    _refuse_many(division)
    values = tuple(v for _, v in problem.values)
    between: list[Residual] = []
    inner: list[tuple[Face, ...]] = [()] * len(division)
    for (p, q), found in division.interfaces(faces).items():
        inner[p], inner[q] = (*inner[p], *found), (*inner[q], *found)
        if ground is not domain:
            start, stop = (float(v) for v in place.box[-1])
            found = tuple(Extruded(face, start, stop) for face in found)
        boxes = [Piece(domain, division, i).bounds for i in (p, q)]
        lengths = np.min([b[:, 1] - b[:, 0] for b in boxes], axis=0)
        region = Interface((p, q), tuple(lengths.tolist()), found)
        n, language = len(problem.unknowns), problem.language()
        if division.are_alike(p, q):
            statements = along_seam(forms, (p, q), n, language)
        else:
            laws = [kinds.laws(division.samples[i][0]) for i in (p, q)]
            statements = continuity(forms, laws, (p, q), n, language)
        between += [lower_form(form, region).at(values) for form in statements]
    return Materials(domain, division, len(problem.unknowns), tuple(between), tuple(inner))


def _travelling(problem: Problem) -> Materials | None:
    """The pieces between the lines along which kinks travel."""
    found = characteristics_of(problem)
    if found is None:
        return None
    values = tuple(v for _, v in problem.values)
    between: list[Residual] = []
    inner: list[tuple[Face, ...]] = [()] * len(found.tiling)
    for pair, face, statements in found.between:
        boxes = np.array([found.tiling.box(i) for i in pair])
        region = Interface(pair, tuple(np.ptp(boxes, axis=2).min(axis=0).tolist()), (face,))
        between += [lower_form(form, region).at(values) for form in statements]
        for i in pair:
            inner[i] = (*inner[i], face)
    unknowns = len(problem.unknowns)
    return Materials(problem.domain, found.tiling, unknowns, tuple(between), tuple(inner), optional=True)


def _refuse_many(division: Division) -> None:
    if len(division) > _PIECES:
        raise ProblemError(
            "problem",
            expected=f"coefficients and sources that divide the domain into at most {_PIECES} pieces",
            got=f"{len(division)}",
            remedy="Smooth the jumps, for example with tanh((x - a)/width), or solve a part of it.",
        )


def _cross(breaks: Breaks) -> bool:
    """Whether fluxes jump on planes of both coordinates: where these meet, there is a corner."""
    return len({p.axis for p in breaks.planes if p.flux}) > 1 and not breaks.sources


class _Kinds:
    """x ↦ which laws hold at x, as a number: the signs of all cuts say which."""

    def __init__(self, forms: Sequence[Form], cuts: Sequence[Any], place: SwitchBox, d: int) -> None:
        self._expressions = [e for form in forms for e in _all(form)]
        self._forms, self._place, self._d = forms, place, d
        self._signs = program(place.variables.coordinates[:d], list(cuts))
        self._known: dict[bytes, int] = {}
        self._laws: dict[tuple[Any, ...], int] = {}

    def levels(self, X: Array) -> Array:
        """The values of all cuts, (n, cuts)."""
        with np.errstate(all="ignore"):
            values = self._signs(*X.T)
        return np.column_stack([np.empty((len(X), 0)), *(np.asarray(v) + np.zeros(len(X)) for v in values)])

    def __call__(self, X: Array) -> Numbers:
        signs = self.levels(X) > 0
        if not signs.shape[1]:
            return np.zeros(len(X), dtype=np.intp)
        # As numbers of 62 bits each: to compare these is ten times as fast as to compare rows.
        parts = np.split(signs, range(62, signs.shape[1], 62), axis=1)
        codes = np.column_stack([bits @ (1 << np.arange(bits.shape[1])) for bits in parts])
        axis = None if codes.shape[1] == 1 else 0
        _, first, index = np.unique(codes, axis=axis, return_index=True, return_inverse=True)
        numbers = [self._number(codes[i].tobytes(), X[i]) for i in first]
        return np.array(numbers, dtype=np.intp)[np.reshape(index, -1)]

    def _number(self, pattern: bytes, x: Array) -> int:
        if pattern not in self._known:
            value = self._value(x)
            law = tuple(law_at(e, value) for e in self._expressions)
            self._known[pattern] = self._laws.setdefault(law, len(self._laws))
        return self._known[pattern]

    def laws(self, x: Array) -> list[tuple[Form, ...]]:
        """For each equation the forms of its fluxes, and of what is outside of them, as they are at x."""
        value = self._value(x)
        return [
            (*(_under(f.form, value) for f in form.fluxes), _under(form.outside or form, value))
            for form in self._forms
        ]

    def smooth(self, g: Any, ground: Domain) -> list[Any]:
        """The laws of a cut that itself switches, as Max(1, sign(x)) does; mostly it is one."""
        if not g.has(*SWITCHING):
            return [g]
        X = np.asarray(ground.interior(_LAWS, np.random.default_rng(0)), dtype=float)
        return [e for e in dict.fromkeys(law_at(g, self._value(p)) for p in X) if not e.is_number]

    def _value(self, x: Array) -> Value:
        v = self._place.variables
        point = dict(zip(v.coordinates[: self._d], x.tolist(), strict=True))

        def value(e: Any) -> float | None:
            fixed = self._place.fixed(e)
            if not fixed.free_symbols <= point.keys():
                return None
            with np.errstate(all="ignore"):
                columns = [np.array([point[c]]) for c in point]
                return float(np.ravel(program(list(point), [fixed])(*columns)[0])[0])

        return value


def _all(form: Form) -> list[Any]:
    inner = [e for f in form.fluxes for e in _all(f.form)]
    return [form.rest, *(a for _, a in form.linear), *form.partials, *inner]


def _under(form: Form, value: Value) -> Form:
    """A form with the laws of one side."""
    return replace(
        form,
        linear=tuple((j, law_at(a, value)) for j, a in form.linear),
        rest=law_at(form.rest, value),
        partials=tuple(law_at(p, value) for p in form.partials),
    )


def _distinct(switches: Sequence[Switch], place: SwitchBox, ground: Domain) -> list[Any]:
    """The functions whose signs matter; g and 2g, or -g, are one."""
    X = np.asarray(ground.interior(512, np.random.default_rng(0)), dtype=float)
    d = X.shape[1]
    out: list[tuple[Any, Array]] = []
    for switch in switches:
        g = place.fixed(switch.expression)
        with np.errstate(all="ignore"):
            values = np.asarray(program(place.variables.coordinates[:d], [g])(*X.T)[0]) + np.zeros(len(X))
        if not any(_proportional(values, other) for _, other in out):
            out.append((g, values))
    return [g for g, _ in out]


def _proportional(a: Array, b: Array) -> bool:
    with np.errstate(all="ignore"):
        ratio = a / b
    ratio = ratio[np.isfinite(ratio)]
    return bool(len(ratio) and ratio.max() - ratio.min() <= _SAME * np.abs(ratio).max())


def _faces(g: Any, place: SwitchBox, ground: Domain) -> tuple[Face, ...]:
    """{g = 0} in the bounds of the domain: the boundary of a shape that was asked, or a level set."""
    go_on(__name__)
    d = len(ground.coordinates)
    coordinates = place.variables.coordinates[:d]
    for f in g.atoms(AppliedUndef):
        shape = getattr(f.func, "shape", None)
        if shape is not None and f.args == coordinates:
            return faces_of(shape)
        if shape is not None and f.args == coordinates[:-1]:
            low, high = (float(v) for v in box_of(ground)[-1])
            return tuple(Extruded(face, low, high) for face in faces_of(shape))
    return Level(g, coordinates, "problem: an interface").faces(box_of(ground), g)


def in_one_piece(problem: Problem) -> Materials | None:
    """A domain with gaps as one piece, for waves around them; None where it has none."""
    domain = problem.domain
    known = len(domain.coordinates) in (2, 3) and time_of(domain) is None
    if not known or any(s.region.is_sum for s in problem.statements):
        return None
    if all(face.plane() is not None for face in faces_of(domain)):
        return None
    division = Division.of(domain, lambda X: np.zeros(len(X), dtype=np.intp), ())
    if len(division) > 1 or not division.gaps(0):
        return None
    return Materials(domain, division, len(problem.unknowns), ())


def refuse_pieces(problem: Problem) -> None:
    """Raise a ProblemError for jumps on slanted or curved surfaces that are not solved."""
    jumps = [str(s.expression) for s in problem.breaks.slanted if s.flux]
    found = materials_of(problem)
    switches = [s for statement in problem.statements for s in statement.form.switches]
    whole = any(s.whole and len(axes_of(s, problem.place())) > 1 for s in switches)
    if jumps and (found is None or whole):
        raise ProblemError(
            "problem",
            expected="fluxes whose coefficients jump on coordinate planes, or where an expression of two or "
            "three coordinates is zero",
            got=f"a jump at {', '.join(jumps[:3])}",
            remedy="Write it with Piecewise, one formula on each side; where it is, this is not solved yet: "
            "smooth the jump, for example with tanh((x - a)/width).",
        )
    if found is None:
        return
    if problem.breaks.sources:
        raise ProblemError(
            "problem",
            expected="no DiracDelta beside what jumps on a slanted or curved surface",
            got="both",
            remedy="This is not solved yet: use a narrow exp(-((x - a)/w)**2) for the source.",
        )
    if found.division.domain is problem.domain and time_of(problem.domain) is not None:
        for s in problem.statements:
            if s.region.is_sum:
                raise ProblemError(
                    s.name,
                    expected="no integral where something jumps on a surface that moves",
                    got="an integral",
                    remedy="This is not solved yet: fix the value at a point instead, on={x: 0, y: 0}.",
                )


def refuse_moving(problem: Problem, symbols: Sequence[Any], what: str) -> None:
    """Raise a ProblemError where a parameter moves the surface on which something jumps."""
    for equation in problem.equations:
        residual = equation.lhs - equation.rhs if isinstance(equation, sp.Equality) else sp.sympify(equation)
        for switch in switches_in(residual, problem.coordinates, ()):
            moving = switch.expression.free_symbols & set(symbols)
            if moving and not switch.hidden:
                raise ProblemError(
                    what,
                    expected="parameters that leave jumps where they are",
                    got=f"{sorted(map(str, moving))[0]}, which moves the place of a jump",
                    remedy="Fix it, or describe the jump by a steep smooth function such as tanh.",
                )
