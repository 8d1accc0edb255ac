"""The systems that there are: held, streamed, in cells, in two halves, with ties between unknowns."""

from __future__ import annotations

from pibls.system.divided.cells import CellSystem
from pibls.system.even_odd import EvenOddSystem
from pibls.system.streaming import StreamedSystem
from pibls.system.system import System
from pibls.system.tied import TiedSystem

Assembled = System | StreamedSystem | CellSystem | EvenOddSystem
"""As it comes from the points."""
AnySystem = Assembled | TiedSystem
"""As it is solved."""
