"""Exceptions and warnings; errors name the argument, the expected and actual value, and a remedy."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType


class PiblsError(Exception):
    """Base class of the exceptions of pibls."""


class ProblemError(PiblsError, ValueError):
    """An invalid argument.

    ``in_file`` is the remedy for arguments in a problem file, if it differs from ``remedy``.

    >>> raise ProblemError("radius", expected="a positive number", got=-1, remedy="Give radius > 0.")
    Traceback (most recent call last):
        ...
    pibls.errors.ProblemError: radius: expected a positive number, got -1. Give radius > 0.
    """

    def __init__(
        self, argument: str, *, expected: str, got: object, remedy: str, in_file: str | None = None
    ) -> None:
        self.argument = argument
        self.expected = expected
        self.got = str(got)
        self.remedy = remedy
        self.in_file = in_file or remedy
        super().__init__(f"{argument}: expected {expected}, got {self.got}. {remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are pickled by positional arguments; these are keyword-only.
        return _rebuild, (self.argument, self.expected, self.got, self.remedy, self.in_file)


def _rebuild(argument: str, expected: str, got: str, remedy: str, in_file: str) -> ProblemError:
    return ProblemError(argument, expected=expected, got=got, remedy=remedy, in_file=in_file)


class ConvergenceWarning(UserWarning):
    """A solution does not meet the tolerance; the text is that of its status."""


class ShapeWarning(UserWarning):
    """A shape is valid but perhaps not as intended."""


class MissingPackageError(PiblsError, ImportError):
    """An optional package is not installed; the text says how to install it."""


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return a module of an optional package, or raise an error that names the remedy.

    >>> import_optional("math", extra="plot", purpose="pictures").floor(1.5)
    1
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as reason:
        raise MissingPackageError(
            f"{purpose} needs the package {package}, which cannot be imported ({reason}). "
            f"Install it with: pip install 'pibls[{extra}]'",
            name=package,
        ) from None


def failure_reason(problem: Exception) -> str:
    """Return why a file operation failed, without the path."""
    found = problem.strerror if isinstance(problem, OSError) else None
    return found or str(problem)


def output_path(path: object, argument: str) -> Path:
    """Return the path of an output file, checked before any computation.

    >>> output_path("u.csv", "solution.to_csv(path)").name
    'u.csv'
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        got, remedy = repr(path), 'Give a file name such as "u.csv", or a pathlib.Path.'
    elif not Path(path).absolute().parent.is_dir():
        got, remedy = f"{path}, in a folder that does not exist", "Create the folder first."
    elif Path(path).is_dir():
        got, remedy = f"the folder {path}", "Add a file name."
    else:
        return Path(path)
    raise ProblemError(argument, expected="the name of a file that can be written", got=got, remedy=remedy)
