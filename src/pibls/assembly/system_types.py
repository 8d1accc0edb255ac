"""Union types of the assembled systems."""

from __future__ import annotations

from pibls.assembly.even_odd import EvenOddSystem
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.assembly.shared_coefficients import SharedCoefficientSystem
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import System

AssembledSystem = System | StreamedSystem | CellSystem | EvenOddSystem
"""A system as assembled: stored, streamed, in cells, or split into even and odd functions."""
AnySystem = AssembledSystem | SharedCoefficientSystem
"""A system as solved, possibly with shared coefficients."""
