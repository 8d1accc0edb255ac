"""Packages that pibls can do without, asked for where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pibls.errors import PiblsError


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
