"""Import of Matplotlib on first use."""

from __future__ import annotations

from typing import Any

from pibls.errors import import_optional


def matplotlib(module: str) -> Any:
    """Return a module of Matplotlib, such as "figure"; raise an error with the remedy if not installed."""
    return import_optional(f"matplotlib.{module}", extra="plot", purpose="A picture")
