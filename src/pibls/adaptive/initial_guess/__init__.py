"""Initial guess of a nonlinear problem: given by the user, or computed from the data."""
