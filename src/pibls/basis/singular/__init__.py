"""Singular and local functions: for corners, holes and boundary layers."""
