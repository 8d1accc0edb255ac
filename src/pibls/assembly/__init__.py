"""Assembly of least-squares systems: points, and the rows of equations and conditions."""
