"""Spaces: what the columns are. A basis on the whole domain, or one in each cell of it."""

from pibls.space.decomposed import Decomposed, DecomposedBasis

__all__ = ["Decomposed", "DecomposedBasis"]
