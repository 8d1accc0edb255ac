"""Corners for which singular functions are computed: the strongest scalar ones, or those of a system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pibls.analysis.corners.scalar_corners import Corner, corners_of, leading_operator
from pibls.analysis.corners.system_corners import SystemCorner, system_corners
from pibls.analysis.thresholds import SCALAR_CORNERS, SYSTEM_CORNERS
from pibls.geometry import Domain
from pibls.problem.forms.compilation import CompiledProblem


@dataclass(frozen=True)
class Corners:
    """Corners of a plane domain with singular solutions: of scalar equations, or of a system."""

    scalar: tuple[Corner, ...] = ()
    system: tuple[SystemCorner, ...] = ()

    @property
    def are_weak(self) -> bool:
        """Whether all singularities are at most logarithmic in the second derivatives."""
        return are_weak(self.scalar) and not any(corner.is_strong for corner in self.system)


def find_corners(compiled: CompiledProblem, domain: Domain) -> Corners:
    """Return the corners of a system, or else the strongest corners of its scalar equations."""
    system = relevant_system_corners(compiled, domain)
    return Corners((), system) if system else Corners(strongest_corners(compiled, domain))


def strongest_corners(compiled: CompiledProblem, domain: Domain) -> tuple[Corner, ...]:
    """Return the strongest corners; a digitised outline has hundreds of nearly straight ones."""
    corners = corners_of(compiled, domain)
    if len(corners) > SCALAR_CORNERS.max_corners:
        corners = tuple(sorted(corners, key=min_power)[: SCALAR_CORNERS.max_corners])
    return corners


def are_weak(corners: Sequence[Corner]) -> bool:
    """Whether the corners have at most logarithmic singularities, as those of a rectangle."""
    return all(math.isinf(min_power(corner)) for corner in corners)


def min_power(corner: Corner) -> float:
    """Return the smallest non-integer power of any unknown; infinite if there is none."""
    powers = [corner.first_power(k) for k in range(len(corner.kinds))]
    return min((p for p in powers if p is not None), default=math.inf)


def relevant_system_corners(compiled: CompiledProblem, domain: Domain) -> tuple[SystemCorner, ...]:
    """Return the corners of a system; none if each unknown has a second-order equation of its own."""
    leads = [leading_operator(compiled, k) for k in range(compiled.unknowns)]
    if all(lead is not None for lead in leads) and len({lead[1] for lead in leads if lead}) == 1:
        return ()
    found = system_corners(compiled, domain)
    return found if len(found) <= SYSTEM_CORNERS.max_corners else ()
