"""Collocation in space on intervals and boxes."""
