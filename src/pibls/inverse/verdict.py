"""Do the data determine what is asked of them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """Whether the data determine all parameters; if not, what they do not."""

    determined: bool
    words: tuple[str, ...] = ()
    directions: tuple[dict[Any, float], ...] = ()
    """Relative changes of the parameters that the data do not see."""

    def __bool__(self) -> bool:
        return self.determined

    def __str__(self) -> str:
        return "all parameters are determined" if self.determined else "; ".join(self.words)
