"""Singular functions at corners, holes and interfaces, added to a basis."""
