"""The systems that there are: held, streamed, in cells, in two halves, with ties between unknowns."""

from __future__ import annotations

from pibls.assembly.even_odd import EvenOddSystem
from pibls.assembly.hybridized.cells import CellSystem
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import System
from pibls.assembly.tied import TiedSystem

Assembled = System | StreamedSystem | CellSystem | EvenOddSystem
"""As it comes from the points."""
AnySystem = Assembled | TiedSystem
"""As it is solved."""
