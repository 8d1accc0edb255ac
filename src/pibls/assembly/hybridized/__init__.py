"""Systems in cells: one for each cell, and the traces that hold neighbours together."""
