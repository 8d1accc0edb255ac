"""Corners of a plane domain: what clashes there, and which powers solutions have."""
