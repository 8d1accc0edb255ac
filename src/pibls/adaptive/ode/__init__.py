"""Ordinary evolutions: one orbit, and a second one beside it."""
