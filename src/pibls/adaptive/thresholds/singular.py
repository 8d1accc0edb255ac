"""What decides which functions corners bring."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CorneredThresholds:
    """Functions of corners in cells (`search.singular.cornered`)."""

    above: float = 2.0  # degrees above the first: what is less is taken out everywhere
    highest: float = 8.0  # degree of what is added in the cell of a corner


CORNERED = CorneredThresholds()


@dataclass(frozen=True)
class WedgedThresholds:
    """Functions at corners of systems, and where materials meet (`search.singular.wedged`)."""

    highest: float = 36.0  # degree, of a linear system …
    highest_bent: float = 12.0  # … of one that is not …
    highest_joined: float = 32.0  # … and where materials meet
    rich_angles: int = 20  # of points that are fitted, where there are polynomials of the angle
    most: int = 12  # corners: more are none
    close: float = 0.25  # of its size: as close a piece has the functions of a point beyond a seam


WEDGED = WedgedThresholds()


@dataclass(frozen=True)
class EnrichThresholds:
    """Functions beside waves (`search.singular.enrich`)."""

    strong: float = 1.0 - 1e-6  # a first power below this makes fluxes infinite: waves alone are not tried
    most_corners: int = 24  # corners, the strongest first
    levels: int = 12  # held-out points towards a corner, at so many distances …
    angles: int = 5  # … and angles
    beside: float = 1e-9  # of the domain: points as close to a corner are moved away
    left: tuple[float, ...] = (8.0, 12.0, 18.0, 26.0, 33.0, 41.0)
    """E^-left is left out around holes, attempt after attempt."""
    corners: tuple[int, ...] = (500, 1000, 2000, 4000)  # functions at all corners together
    least_share: float = 0.1  # of the highest power: fewer functions than that share of it are no basis
    summed: dict[bool, int] = field(default_factory=lambda: {False: 20, True: 40})
    """Halvings towards a corner: 20 integrate r^(1/2) to rounding; the pressure of a system may be
    1/r."""
    in_box: tuple[int, int] = (36, 1000)
    """Points of a rule inside the smallest boxes, and more in one that is the whole domain."""
    held: float = 6.0  # points that judge each rim are those of e^-6


ENRICH = EnrichThresholds()


@dataclass(frozen=True)
class PiecedThresholds:
    """Pieces of several materials (`search.pieces.pieced`)."""

    share: float = 0.5
    """Functions in the mirror of a gap, and waves in an inclusion, over the waves of the piece outside: as
    many in each of five inclusions as outside gave a hundred times the residual."""
    digits: float = 14.0  # e^-14 is left out around inclusions at first …
    per_doubling: float = 7.0  # … and e^-7 of that with twice as many waves
    whole: float = 1e-6  # relative: pieces of an integral make up the whole of it


PIECED = PiecedThresholds()
