"""What a solution is asked afterwards: other values, other data, other solutions, moments, integrals."""
