"""Holes of a plane domain, and the functions around them."""
