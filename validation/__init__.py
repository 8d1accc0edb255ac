"""Problems with independent references, in one registry, and one runner for all of them.

    python -m validation list [--set NAME …] [--tag TAG …]
    python -m validation verify [--set NAME …] [--only NAME …]
    python -m validation run [--set NAME …] [--only NAME …] [--seeds 0 1] [--jobs 2] [--out FILE]
    python -m validation compare OLD NEW

`entries` returns the problems of the registry; `measure` solves one of them and compares the result with its
reference.
"""

from validation.entry import Entry, Samples
from validation.measure import measure
from validation.registry import SETS, entries

__all__ = ["SETS", "Entry", "Samples", "entries", "measure"]
