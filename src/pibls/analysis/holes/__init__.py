"""Holes of plane domains, and basis functions around them."""
