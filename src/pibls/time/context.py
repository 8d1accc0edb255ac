"""What time integration needs to know of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from pibls.analysis.evolution import Evolution
from pibls.arrays import Array
from pibls.geometry import Domain
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.regions import PointSet


class SamplePoints(Protocol):
    """Points of the domain."""

    @property
    def all(self) -> Array:
        """All points, (N, d)."""


class AccuracyThresholds(Protocol):
    """Thresholds from which the tolerances of the windows follow."""

    @property
    def max_ode_tail(self) -> float:
        """Spectral tail of a window of an ordinary differential equation relative to tol."""

    @property
    def tight_tol(self) -> float:
        """Tolerance below which cells and windows have more functions."""

    @property
    def max_window_residual(self) -> float:
        """Residual of a window relative to tol."""

    @property
    def window_rounding(self) -> tuple[float, float]:
        """Smallest tolerance of a window of an ordinary and of a partial differential equation."""


class EvolutionContext(Protocol):
    """An evolution with sample points; `adaptive.validation.context` has the implementation."""

    @property
    def compiled(self) -> CompiledProblem: ...

    @property
    def domain(self) -> Domain: ...

    @property
    def box(self) -> Array:
        """Bounding box of the domain, (d, 2)."""

    @property
    def evolution(self) -> Evolution | None: ...

    @property
    def held_out(self) -> Mapping[Region, PointSet]:
        """Sample points of each region."""

    @property
    def comparison_points(self) -> SamplePoints:
        """Points at which the search for steep data starts."""

    @property
    def narrow_data_points(self) -> Array:
        """Points at which the data are far larger than at the sample points."""

    @property
    def tol(self) -> float: ...

    @property
    def thresholds(self) -> AccuracyThresholds: ...
