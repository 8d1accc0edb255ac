"""Exceptions that name the argument, what was expected, what came, and the remedy."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any


class PiblsError(Exception):
    """Everything that pibls raises on purpose."""


class ProblemError(PiblsError, ValueError):
    """An argument that makes no sense.

    ``in_file`` is the remedy for those who wrote the argument in a problem file, where that differs.

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
        # Exceptions pickle by their positional arguments; ours are keywords, so say how to rebuild.
        return _rebuild, (self.argument, self.expected, self.got, self.remedy, self.in_file)


def _rebuild(argument: str, expected: str, got: str, remedy: str, in_file: str) -> ProblemError:
    return ProblemError(argument, expected=expected, got=got, remedy=remedy, in_file=in_file)


class ConvergenceWarning(UserWarning):
    """A solution that is not as good as was asked for; the text is that of its status."""


class ShapeWarning(UserWarning):
    """A shape that makes sense but is perhaps not what was meant."""


class MissingPackageError(PiblsError, ImportError):
    """A package that only this wish needs is not installed; the text says how to get it."""


def need(module: str, *, extra: str, purpose: str) -> Any:
    """A module of an optional package, or an error that names the remedy.

    >>> need("math", extra="plot", purpose="pictures").floor(1.5)
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


def target(path: Any, argument: str) -> Path:
    """Where to write to, looked at before anything is made for it.

    >>> target("u.csv", "solution.to_csv(path)").name
    'u.csv'
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        got, remedy = repr(path), 'Write "u.csv", with the ending that is meant, or a pathlib.Path.'
    elif not Path(path).absolute().parent.is_dir():
        got, remedy = f"{path}, in a folder that does not exist", "Make the folder first."
    elif Path(path).is_dir():
        got, remedy = f"the folder {path}", "Add the name of a file in it."
    else:
        return Path(path)
    raise ProblemError(argument, expected="the name of a file that can be written", got=got, remedy=remedy)
