"""Galerkin method in space on domains of any shape."""
