"""Cached property without a lock, and results of functions that are computed once.

`functools.cached_property` of Python 3.11 holds one lock per property of a class while it computes the value.
A thread that waits for the workers of an engine under that lock deadlocks with a worker thread of the same
process that needs the same property of another object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar, cast

from pibls.runtime.deadline import check_deadline

T = TypeVar("T")


class Memo:
    """Results of functions, each computed once; the function and its hashable arguments are the key.

    The deadline is checked before a computation; one that was not started is not stored.

    >>> memo = Memo()
    >>> memo(pow, 2, 10), memo(pow, 2, 10), len(memo)
    (1024, 1024, 1)
    """

    def __init__(self) -> None:
        self._results: dict[object, object] = {}

    def __call__(self, function: Callable[..., T], *arguments: object, key: Hashable = None) -> T:
        """Return function(*arguments); ``key`` replaces the arguments as the key."""
        entry = (function, arguments if key is None else key)
        if entry not in self._results:
            check_deadline()
            self._results[entry] = function(*arguments)
        return cast("T", self._results[entry])

    def __len__(self) -> int:
        return len(self._results)


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - replaces functools.cached_property
        """Property that is computed when first read and then stored in the ``__dict__`` of the object.

        Threads that read it at the same time may each compute it; all of them get the value that was stored
        first.

        >>> class Square:
        ...     side = 3.0
        ...     @cached_property
        ...     def area(self):
        ...         return self.side**2
        >>> square = Square()
        >>> square.area, square.__dict__
        (9.0, {'area': 9.0})
        """

        def __init__(self, function):
            self.function = function
            self.name = function.__name__
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.name, self.function(instance))
