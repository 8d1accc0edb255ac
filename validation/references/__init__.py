"""Reference solutions that are independent of pibls."""
