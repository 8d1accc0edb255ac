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
from types import MappingProxyType
from typing import Any, TypeVar

from sympy.core.function import UndefinedFunction

from pibls.errors import ProblemError

T = TypeVar("T")


class ImplementedFunction(UndefinedFunction):  # type: ignore[misc]
    """SymPy function with a NumPy implementation, like implemented_function, that can be pickled."""

    @staticmethod
    def of(
        name: str, function: Any, *, transient: Mapping[str, Any] = MappingProxyType({}), **attributes: Any
    ) -> Any:
        """Create a function with ``attributes``; those in ``transient`` are not pickled."""
        made = ImplementedFunction(name, _imp_=staticmethod(function), **transient)
        for key, value in attributes.items():
            setattr(made, key, value)
        made.attributes = attributes
        return made


def _implemented(name: str, function: Any, attributes: dict[str, Any]) -> Any:
    return ImplementedFunction.of(name, function, **attributes)


def _reduced(made: Any) -> tuple[Any, ...]:
    return _implemented, (made.name, portable(made._imp_), made.attributes)


copyreg.pickle(ImplementedFunction, _reduced)  # type: ignore[arg-type]


def state_of(value: object) -> dict[str, Any]:
    """Return the attributes of an object without the values of cached properties."""
    kind = type(value)
    return {
        name: held
        for name, held in vars(value).items()
        if not hasattr(inspect.getattr_static(kind, name, None), "__get__")
    }


class DropsCaches:
    """Base class that omits cached properties from pickles."""

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self)


class HoldsCallables:
    """Base class of objects that may hold user callables."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: portable(value) for name, value in state_of(self).items()}

    def __copy__(self: T) -> T:
        other = object.__new__(type(self))
        other.__dict__.update(vars(self))
        return other


def portable(value: Any) -> Any:
    """Return the value, or for a Python callable an object that unpickles as that callable."""
    is_function = callable(value) and not isinstance(value, type) and not hasattr(value, "is_Atom")
    return _Portable(value) if is_function else value


class _Portable:
    """Wrapper of a callable that is pickled, and unpickles as the callable."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __reduce__(self) -> tuple[Any, ...]:
        if _is_importable(self.function):
            return _identity, (self.function,)
        return _unpacked, (_packed(self.function),)


def _is_importable(function: Any) -> bool:
    """Whether a function, or the class of a callable object, can be imported by its name."""
    inner = getattr(function, "func", None) or getattr(function, "__func__", None)
    if inner is not None:  # functools.partial, or a bound method
        return _is_importable(inner)
    named = function if hasattr(function, "__qualname__") else type(function)
    try:
        pickle.dumps(named)
    except Exception:
        return False
    return True


def _identity(function: Any) -> Any:
    """Return the argument: a callable that pickle stores by reference is unpickled as it is."""
    return function


def _packed(function: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ProblemError(
            "pickle",
            expected="callables that can be imported by name, or the package cloudpickle",
            got=f"{getattr(function, '__qualname__', repr(function))}, which has no such name",
            remedy="Define the function at the top level of a module, or: pip install cloudpickle.",
        ) from None
    content: bytes = cloudpickle.dumps(function)
    return content


def _unpacked(content: bytes) -> Any:
    return pickle.loads(content)
