"""Faces of the boundary: curves, surfaces and level sets, whole or trimmed."""
