"""HTML representations of problems and solutions for notebooks, and plots of problems."""
