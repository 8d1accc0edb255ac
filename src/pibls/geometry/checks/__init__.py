"""Validation of the arguments of shapes, and of user-defined domains."""
