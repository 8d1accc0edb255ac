"""Corners of plane domains: compatibility of conditions, and exponents of singular solutions."""
