"""Analysis of a problem before solving: missing and redundant conditions, singularities, layers, holes."""
