"""The problem sets of the registry."""
