"""Incremental broad learning: nodes and points are added, and the factorisation is updated."""

from pibls.incremental.model import IncrementalBroad

__all__ = ["IncrementalBroad"]
