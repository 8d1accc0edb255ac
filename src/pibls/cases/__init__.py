"""Known problems: ``pibls.cases["TC-5"]``; iterating lists the names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping

from pibls.cases.case import Case, Published
from pibls.cases.paper import BUILDERS
from pibls.errors import ProblemError


class Cases(Mapping[str, Case]):
    """Cases by name, each built when it is first asked for.

    >>> list(cases)[:3]
    ['TC-1', 'TC-2', 'TC-3']
    """

    def __init__(self, builders: Mapping[str, Callable[[], Case]]) -> None:
        self._builders = builders
        self._built: dict[str, Case] = {}

    def __getitem__(self, name: str) -> Case:
        if name not in self._builders:
            near = difflib.get_close_matches(str(name), self._builders, n=1, cutoff=0.3)
            raise UnknownCaseError(
                "cases[name]",
                expected=f"one of {', '.join(self._builders)}",
                got=repr(name),
                remedy=f"Did you mean {near[0]!r}?" if near else "Choose one of these names.",
            )
        if name not in self._built:
            self._built[name] = self._builders[name]()
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


class UnknownCaseError(ProblemError, KeyError):
    """No case of that name."""

    __str__ = Exception.__str__


cases = Cases(BUILDERS)

__all__ = ["Case", "Cases", "Published", "UnknownCaseError", "cases"]
