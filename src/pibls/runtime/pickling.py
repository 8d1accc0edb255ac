"""Pickling of user callables: by reference if possible, else with cloudpickle.

pickle stores a function by the names of its module and itself. That fails for lambdas and for functions
defined inside other functions. cloudpickle stores their code. If it is not installed, the error names the
callable.
"""

from __future__ import annotations

import copyreg
import inspect
import pickle
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType, MethodType
from typing import Any, TypeVar

from sympy.core.basic import Basic
from sympy.core.function import UndefinedFunction

from pibls.arrays import PointFunction
from pibls.errors import ProblemError

T = TypeVar("T")


class ImplementedFunction(UndefinedFunction):  # type: ignore[misc]
    """SymPy function with a NumPy implementation, like implemented_function, that can be pickled."""

    @staticmethod
    def of(
        name: str,
        function: PointFunction,
        *,
        transient: Mapping[str, object] = MappingProxyType({}),
        **attributes: object,
    ) -> type[UndefinedFunction]:
        """Create a function with ``attributes``; those in ``transient`` are not pickled."""
        made = ImplementedFunction(name, _imp_=staticmethod(function), **transient)
        for key, value in attributes.items():
            setattr(made, key, value)
        made.attributes = attributes
        return made


def _implemented(name: str, function: PointFunction, attributes: dict[str, Any]) -> type[UndefinedFunction]:
    return ImplementedFunction.of(name, function, **attributes)


def _reduced(made: Any) -> tuple[object, ...]:
    return _implemented, (made.name, portable(made._imp_), made.attributes)


copyreg.pickle(ImplementedFunction, _reduced)  # type: ignore[arg-type]


def state_of(value: object) -> dict[str, object]:
    """Return the attributes of an object without the values of cached properties."""
    kind = type(value)
    return {
        name: held
        for name, held in vars(value).items()
        if not hasattr(inspect.getattr_static(kind, name, None), "__get__")
    }


class DropsCaches:
    """Base class that omits cached properties from pickles."""

    def __getstate__(self) -> dict[str, object]:
        return state_of(self)


class HoldsCallables:
    """Base class of objects that may hold user callables."""

    def __getstate__(self) -> dict[str, object]:
        return {name: portable(value) for name, value in state_of(self).items()}

    def __copy__(self: T) -> T:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        return other


def portable(value: Any) -> Any:
    """Return the value, or for a Python callable an object that unpickles as that callable."""
    is_function = callable(value) and not isinstance(value, type) and not isinstance(value, Basic)
    return _Portable(value) if is_function else value


class _Portable:
    """Wrapper of a callable that is pickled, and unpickles as the callable."""

    def __init__(self, function: PointFunction) -> None:
        self.function = function

    def __reduce__(self) -> tuple[object, ...]:
        if _is_importable(self.function):
            return _identity, (self.function,)
        return _unpacked, (_packed(self.function),)


def _is_importable(function: Any) -> bool:
    """Whether a function, or the class of a callable object, can be imported by its name."""
    if isinstance(function, partial):
        return _is_importable(function.func)
    if isinstance(function, MethodType):
        return _is_importable(function.__func__)
    named = function if _has_name(function) else type(function)
    try:
        pickle.dumps(named)
    except Exception:
        return False
    return True


def _has_name(function: PointFunction) -> bool:
    """Whether a callable has a name of its own, as functions have and callable objects have not."""
    return hasattr(function, "__qualname__")


def callable_name(function: PointFunction) -> str:
    """Return the name of a function, or of the class of a callable object."""
    return str(getattr(function, "__name__", type(function).__name__))


def _identity(function: T) -> T:
    """Return the argument: a callable that pickle stores by reference is unpickled as it is."""
    return function


def _packed(function: PointFunction) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ProblemError(
            "pickle",
            expected="callables that can be imported by name, or the package cloudpickle",
            got=f"{function.__qualname__ if _has_name(function) else repr(function)}, which has no such name",
            remedy="Define the function at the top level of a module, or: pip install cloudpickle.",
        ) from None
    content: bytes = cloudpickle.dumps(function)
    return content


def _unpacked(content: bytes) -> object:
    return pickle.loads(content)
