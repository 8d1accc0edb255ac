"""Methods whose code lives further on in the line of succession."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MethodType
from typing import Any


class Later:
    """A method that is a function of a later module, loaded when it is first used.

    Data flows one way, so a solution cannot import what is made from solutions: files, pictures. It
    names them, as the front door does, and the first use fetches them. Seen from the class it is the
    function itself, so that help() and signatures are its own.

    >>> class Number(int):
    ...     root = Later("math:sqrt")
    >>> Number(9).root()
    3.0
    """

    def __init__(self, place: str) -> None:
        self.place = place

    @property
    def function(self) -> Callable[..., Any]:
        """The function behind the name."""
        module, _, name = self.place.partition(":")
        function: Callable[..., Any] = getattr(import_module(module), name)
        return function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.function if instance is None else MethodType(self.function, instance)
