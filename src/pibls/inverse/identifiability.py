"""The result of an identifiability analysis."""

from __future__ import annotations

from dataclasses import dataclass

from pibls.expressions import Parameter


@dataclass(frozen=True)
class Identifiability:
    """Whether the data determine all parameters, and if not, which combinations they do not.

    True in a boolean context if all parameters are determined; `str` describes the rest.
    """

    determined: bool
    words: tuple[str, ...] = ()
    directions: tuple[dict[Parameter, float], ...] = ()
    """Relative changes of the parameters that leave all measured values unchanged."""

    def __bool__(self) -> bool:
        return self.determined

    def __str__(self) -> str:
        return "all parameters are determined" if self.determined else "; ".join(self.words)
