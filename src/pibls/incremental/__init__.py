"""Incremental broad learning: nodes and points are added, and the factorization is updated."""

from pibls.incremental.model import IncrementalBroad

__all__ = ["IncrementalBroad"]
