"""The callable result, and the ways out of it."""

from pibls.solution.solution import Component, Solution

__all__ = ["Component", "Solution"]
