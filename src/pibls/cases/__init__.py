"""Test problems with known solutions: ``pibls.cases["TC-5"]``; iterating gives the names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from pibls.errors import ProblemError

if TYPE_CHECKING:
    from pibls.cases.case import Case


class Cases(Mapping[str, "Case"]):
    """Mapping of names to cases, each built at its first access.

    >>> list(cases)[:3]
    ['TC-1', 'TC-2', 'TC-3']
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._built: dict[str, Case] = {}

    def __getitem__(self, name: str) -> Case:
        if not isinstance(name, str) or name not in self._modules:
            plain = str(name).upper().replace("_", "-")
            near = difflib.get_close_matches(plain, self._modules, n=1, cutoff=0.3)
            raise UnknownCaseError(
                "cases[name]",
                expected=f"one of {', '.join(self._modules)}",
                got=repr(name),
                remedy=f"Did you mean {near[0]!r}?" if near else "Choose one of these names.",
            )
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def _build(self, name: str) -> Case:
        builders: Mapping[str, Callable[[], Case]] = import_module(self._modules[name]).BUILDERS
        return builders[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class UnknownCaseError(ProblemError, KeyError):
    """There is no case of that name."""

    __str__ = Exception.__str__


cases = Cases({f"TC-{i}": "pibls.cases.paper" for i in range(1, 12)})

__all__ = ["Cases", "UnknownCaseError", "cases"]
