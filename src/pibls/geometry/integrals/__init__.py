"""Quadrature rules for ∫_Ω f and ∫_∂Ω f, over shapes and their intersections with cells."""
