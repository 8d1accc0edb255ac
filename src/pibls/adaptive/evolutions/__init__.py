"""Initial-boundary value problems by time windows: collocation in space on boxes, Galerkin on any shape."""
