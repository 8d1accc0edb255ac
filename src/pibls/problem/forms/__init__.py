"""SymPy → jets → NumPy: what statements become."""
