"""∫_Ω f and ∫_∂Ω f: points with weights for any shape, and for what of it lies in a cell."""
