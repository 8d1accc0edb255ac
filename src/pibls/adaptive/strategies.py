"""The strategy table: which strategies solve a problem, in the order in which they are tried.

The rows are read from top to bottom. A row that applies is followed until it meets the tolerance, ends, or
costs more than the row below it, which then takes over (`adaptive.scheduler`). A new strategy is one module
and one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pibls.adaptive.box_detection import applies_on_line, box_problem_of
from pibls.adaptive.budget import Budget
from pibls.adaptive.random_features.strategy import RandomFeatureStrategy
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import SCHEDULER
from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.points import Points
from pibls.geometry import fills_box
from pibls.linalg.tree.engine import Engine
from pibls.nonlinear import Method
from pibls.spaces import Space


@dataclass(frozen=True)
class Setup:
    """What the strategies of one solve are built from."""

    context: ValidationContext
    budget: Budget
    points: Points | None = None
    method: Method | None = None
    guess: Space | None = None
    weak_enrichment: Callable[[], Enrichment] | None = None
    """Functions of weak corners and holes, which are computed only if they are needed."""
    hole_context: Callable[[], ValidationContext | None] | None = None
    """The problem with functions around the holes of its domain, likewise."""
    undivided_context: ValidationContext | None = None
    """The problem without subdomains, if they are optional: kinks may be below the tolerance."""
    allows_subdivision: bool = True
    """Whether the domain and the time interval may be subdivided."""

    @property
    def is_restricted(self) -> bool:
        """Whether only random features apply: points or a method were given, or subdivision is excluded."""
        return self.points is not None or self.method is not None or not self.allows_subdivision

    @property
    def smooth_context(self) -> ValidationContext | None:
        """The problem for strategies without general subdomains; None if it needs them."""
        return self.context if self.context.subdomains is None else self.undivided_context

    def on_engine(self, engine: Engine) -> Setup:
        """Return the setup with the engine that eliminates the cells."""
        undivided = self.undivided_context
        return replace(
            self,
            context=replace(self.context, engine=engine),
            undivided_context=None if undivided is None else replace(undivided, engine=engine),
        )

    def random_features(self, context: ValidationContext, enrichment: Enrichment) -> RandomFeatureStrategy:
        """Return the strategy with random features and these singular functions."""
        strategy = RandomFeatureStrategy(
            context, self.budget, points=self.points, method=self.method, guess=self.guess
        )
        if enrichment:
            strategy.enrichment, strategy.stagnation_count = enrichment, 1
        return strategy


@dataclass(frozen=True)
class Row:
    """One strategy: when it applies, how it is built, and what it costs."""

    name: str
    applies: Callable[[Setup], bool]
    build: Callable[[Setup], Strategy | None]
    is_enrichment: bool = False
    """Whether it adds singular functions to random features: a rounding limit without them is not final."""
    cost: float | None = None
    """Usual cost, in units of a dense system of `SCHEDULER.cheap_columns` columns: the strategies above may
    use so many columns before this one takes over. None if it is expensive: they are followed until they
    stop gaining."""
    after_stall: bool = False
    """Whether it is only for problems in which Newton's method stalls in the rows above."""

    @property
    def dense_columns(self) -> int | None:
        """Columns of a dense system that takes as long as this strategy usually does."""
        return None if self.cost is None else int(self.cost * SCHEDULER.cheap_columns)


# -- ordinary differential equations --


def _is_initial_value_problem(setup: Setup) -> bool:
    context = setup.context
    return (
        not setup.is_restricted
        and context.subdomains is None
        and context.evolution is not None
        and context.compiled.dimension == 1
    )


def _ode(setup: Setup) -> Strategy | None:
    from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
    from pibls.time.discretizations import WithoutSpace

    strategy = TimeWindowStrategy(setup.context, setup.budget, discretization=WithoutSpace())
    return strategy if strategy.applies else None


# -- random features --


def _is_smooth(setup: Setup) -> bool:
    """Whether no jump on a plane makes the solution unsmooth; only subdivision resolves such jumps."""
    context = setup.context
    faces = context.compiled.interfaces
    if setup.is_restricted or context.subdomains is not None or not faces.planes:
        return True
    is_evolution = context.evolution is not None
    return context.compiled.dimension > 3 or not (faces.in_equations or is_evolution)


def _random_features(setup: Setup) -> Strategy | None:
    enrichment = setup.context.enrichment
    if setup.context.subdomains is not None:
        # Corner functions cost little compared with all subdomains.
        return setup.random_features(setup.context, enrichment)
    if enrichment.is_essential and enrichment.vector_functions:
        return None  # at corners of systems random features alone gain nothing
    return setup.random_features(setup.context, Enrichment())


def _has_strong_corners(setup: Setup) -> bool:
    context, enrichment = setup.context, setup.context.enrichment
    # At corners of nonlinear systems few exponents are known, and refined cells are far faster.
    few_are_known = bool(enrichment.vector_functions) and not context.compiled.is_linear
    return (
        _is_smooth(setup)
        and context.subdomains is None
        and enrichment.is_essential
        and (setup.is_restricted or not few_are_known)
    )


def _features_of_strong_corners(setup: Setup) -> Strategy:
    return setup.random_features(setup.context, setup.context.enrichment)


def _has_weak_corners(setup: Setup) -> bool:
    return setup.weak_enrichment is not None and _is_smooth(setup)


def _features_of_weak_corners(setup: Setup) -> Strategy | None:
    assert setup.weak_enrichment is not None
    enrichment = setup.weak_enrichment()
    return (
        setup.random_features(setup.context.with_enrichment(enrichment), enrichment) if enrichment else None
    )


def _has_holes(setup: Setup) -> bool:
    return setup.hole_context is not None and _is_smooth(setup)


def _features_around_holes(setup: Setup) -> Strategy | None:
    assert setup.hole_context is not None
    context = setup.hole_context()
    return None if context is None else setup.random_features(context, context.enrichment)


# -- subdivision of space and time --


def _is_evolution(setup: Setup) -> bool:
    context = setup.smooth_context
    return not setup.is_restricted and context is not None and context.evolution is not None


def _is_evolution_on_a_box(setup: Setup) -> bool:
    return _is_evolution(setup) and fills_box(setup.context.domain)


def _collocation_in_space(setup: Setup) -> Strategy | None:
    from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
    from pibls.time.discretizations import CollocationInSpace

    assert setup.smooth_context is not None
    strategy = TimeWindowStrategy(setup.smooth_context, setup.budget, discretization=CollocationInSpace())
    return strategy if strategy.applies else None


def _galerkin_in_space(setup: Setup) -> Strategy | None:
    from pibls.adaptive.evolutions.strategy import TimeWindowStrategy
    from pibls.time.discretizations import GalerkinInSpace

    assert setup.smooth_context is not None
    strategy = TimeWindowStrategy(setup.smooth_context, setup.budget, discretization=GalerkinInSpace())
    return strategy if strategy.applies else None


def _may_be_divided(setup: Setup) -> bool:
    return (
        not setup.is_restricted and setup.context.subdomains is None and setup.context.compiled.dimension <= 3
    )


def _is_stationary_on_a_box(setup: Setup) -> bool:
    return _may_be_divided(setup) and box_problem_of(setup.context) is not None


def _tensor_products(setup: Setup) -> Strategy:
    from pibls.adaptive.tensor_products.strategy import TensorProductStrategy

    return TensorProductStrategy(setup.context, setup.budget, guess=setup.guess)


def _is_on_a_line(setup: Setup) -> bool:
    return _may_be_divided(setup) and applies_on_line(setup.context)


def _piecewise_polynomials(setup: Setup) -> Strategy:
    from pibls.adaptive.tensor_products.line_strategy import LineStrategy

    return LineStrategy(setup.context, setup.budget, guess=setup.guess)


def _cells(setup: Setup) -> Strategy | None:
    from pibls.adaptive.cells.strategy import CellStrategy

    strategy = CellStrategy(setup.context, setup.budget, guess=setup.guess)
    return strategy if strategy.applies else None


# -- continuation --


def _is_nonlinear(setup: Setup) -> bool:
    compiled = setup.context.compiled
    return not (
        compiled.is_linear
        or compiled.interfaces.planes
        or setup.context.evolution is not None
        or not _may_be_divided(setup)
    )


def _continuation(setup: Setup) -> Strategy | None:
    from pibls.adaptive.initial_guess.continuation import continued_strategy

    def build(context: ValidationContext, budget: Budget) -> Strategy | None:
        stage = replace(setup, context=context, budget=budget)
        if _is_on_a_line(stage):
            return _piecewise_polynomials(stage)
        return _tensor_products(stage) if _is_stationary_on_a_box(stage) else _cells(stage)

    return continued_strategy(setup.context, setup.budget, build)


TABLE: tuple[Row, ...] = (
    Row("Radau collocation", _is_initial_value_problem, _ode),
    Row("random features", _is_smooth, _random_features),
    Row(
        "functions of strong corners",
        _has_strong_corners,
        _features_of_strong_corners,
        is_enrichment=True,
        cost=1.0,
    ),
    Row("continuation", _is_nonlinear, _continuation, after_stall=True),
    Row(
        "collocation in space",
        _is_evolution_on_a_box,
        _collocation_in_space,
        cost=1.0,
    ),
    Row("Galerkin in space", _is_evolution, _galerkin_in_space, cost=4.0),
    Row(
        "piecewise polynomials",
        _is_on_a_line,
        _piecewise_polynomials,
        cost=1.0,
    ),
    Row("tensor products", _is_stationary_on_a_box, _tensor_products, cost=1.0),
    Row(
        "functions of weak corners",
        _has_weak_corners,
        _features_of_weak_corners,
        is_enrichment=True,
        cost=2.0,
    ),
    Row(
        "functions around holes",
        _has_holes,
        _features_around_holes,
        is_enrichment=True,
        cost=2.0,
    ),
    Row("cells", _may_be_divided, _cells),
)
"""All strategies, in the order in which they are tried."""
