"""114 textbook problems from many fields, stated as a new user would state them.

Statements were written without knowledge of the solver. References are exact solutions, series or integrals
summed to convergence, or computations of `validation.references`, compared with a second, independent one.
"""

from __future__ import annotations

from collections.abc import Iterator

from validation.entry import Entry
from validation.statements.statement import statements_of
from validation.textbook import (
    biology,
    chemistry,
    cooling,
    earth,
    elasticity,
    electricity,
    fluids,
    geometry,
    heat,
    ill_posed,
    mechanics,
    waves,
)

STATEMENTS = statements_of(
    (
        biology,
        chemistry,
        cooling,
        earth,
        elasticity,
        electricity,
        fluids,
        geometry,
        heat,
        ill_posed,
        mechanics,
        waves,
    )
)


def entries() -> Iterator[Entry]:
    """Yield the problems by group."""
    return (statement.entry("textbook") for statement in STATEMENTS)
