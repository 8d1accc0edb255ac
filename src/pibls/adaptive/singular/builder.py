"""The singular functions of a problem: one table of their kinds, and when each is added to the basis.

A new kind of singular functions is one file with a function that yields its blocks, and one row of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from pibls.adaptive.budget import OutOfTimeError
from pibls.adaptive.singular.corners import functions_at_corners, functions_at_ends
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.singular.functions import SingularFunctions
from pibls.adaptive.singular.holes import functions_around_holes, functions_in_layers
from pibls.adaptive.singular.pencils import functions_at_junctions, functions_at_system_corners
from pibls.analysis.analysis import Analysis
from pibls.analysis.corners.system_corners import max_distance
from pibls.analysis.singular_points import SingularPoint, Strength
from pibls.analysis.thresholds import SEGMENTS
from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.geometry import Domain

Blocks = tuple[SingularFunctions, ...]


def _none(_: Analysis) -> Sequence[SingularPoint]:
    return ()


@dataclass(frozen=True)
class SingularKind:
    """A kind of singular functions."""

    functions: Callable[[Analysis], Iterable[SingularFunctions]]
    points: Callable[[Analysis], Sequence[SingularPoint]] = _none
    """The singular points, found without computing functions; none if they are weak."""
    replaces_others: bool = False
    """Whether functions of other kinds at the same place are dropped."""

    def strength(self, analysis: Analysis) -> Strength:
        """Return the strength of the strongest point."""
        return max((p.strength for p in self.points(analysis)), default=Strength.WEAK)


KINDS = (
    SingularKind(functions_at_corners, lambda analysis: analysis.corners),
    SingularKind(functions_at_ends, lambda analysis: analysis.singular_ends),
    SingularKind(functions_around_holes),
    SingularKind(functions_in_layers),
    SingularKind(functions_at_system_corners, lambda analysis: analysis.system_corners),
    SingularKind(functions_at_junctions, lambda analysis: analysis.junctions, replaces_others=True),
)


@dataclass(frozen=True)
class SingularPlan:
    """The singular functions that a problem needs from the start, and those added only if needed."""

    initial: Enrichment
    """Functions of the first candidates, with their points; used at once only if they are essential."""
    delayed: Callable[[], Enrichment] | None = None
    """Computes the functions that are added if no strategy is about to reach the tolerance."""


def build(analysis: Analysis, given: Sequence[BasisSpec] = ()) -> SingularPlan:
    """Return the singular functions of a problem, and those ``given`` by the user."""
    first = given_functions(given, analysis.domain).blocks
    if analysis.decomposition is not None:
        return _on_subdomains(analysis, first)
    if not given and all(kind.strength(analysis) is Strength.WEAK for kind in KINDS):
        # Functions for the corners of a rectangle and for holes are computed only if the solution needs them.
        # At weak corners of a nonlinear system refined cells are better.
        is_known = analysis.is_linear or not analysis.system_corners
        return SingularPlan(Enrichment(), (lambda: _enrichment(analysis, KINDS)) if is_known else None)
    made = _enrichment(analysis, KINDS, first)
    return SingularPlan(made, None if made.is_essential else lambda: made)


def given_functions(given: Sequence[BasisSpec], domain: Domain) -> Enrichment:
    """Return the functions given by the user."""
    blocks = (SingularFunctions(Strength.ESSENTIAL, tuple(given)),) if given else ()
    return Enrichment(blocks, domain)


def build_mirrored(analysis: Analysis) -> Enrichment:
    """Return all singular functions of a problem except those around holes and in layers."""
    return _enrichment(analysis, KINDS).without_families()


def _on_subdomains(analysis: Analysis, first: Blocks) -> SingularPlan:
    """Return the functions on subdomains, where those of corners cost little compared with all subdomains.

    Functions around holes belong to the bases of the subdomains. Those at the ends of interfaces are computed
    only if the solution needs them, which it always does around an interior corner or the tip of a slit.
    """
    rest = [k for k in KINDS if k.replaces_others and k.strength(analysis) < Strength.ESSENTIAL]
    rest = [k for k in rest if k.points(analysis)]
    made = _enrichment(analysis, [k for k in KINDS if k not in rest], first).without_families()

    def with_the_rest() -> Enrichment:
        all_of_them = _enrichment(analysis, rest, made.blocks)
        return Enrichment() if len(all_of_them.blocks) == len(made.blocks) else all_of_them

    return SingularPlan(made, with_the_rest if rest else None)


def _enrichment(analysis: Analysis, kinds: Iterable[SingularKind], first: Blocks = ()) -> Enrichment:
    """Return the blocks of some kinds after the ``first`` ones, without kinds that exceed the time limit."""
    out = list(first)
    for kind in kinds:
        with suppress(OutOfTimeError):
            new = list(kind.functions(analysis))
            if kind.replaces_others and new:
                out = _without_functions_at(np.concatenate([b.places for b in new]), out, analysis)
            out += new
    return Enrichment(tuple(out), analysis.domain)


def _without_functions_at(
    places: Array, blocks: Iterable[SingularFunctions], analysis: Analysis
) -> list[SingularFunctions]:
    """Return blocks without the functions of places that have others."""
    size = SEGMENTS.corner_offset * max_distance(places[0], analysis.domain)

    def is_near(block: SingularFunctions) -> bool:
        away = (np.linalg.norm(places - p, axis=1).min() for p in block.places)
        return min(away, default=np.inf) <= size

    return [block.without_functions() if is_near(block) else block for block in blocks]
