"""One system for all pieces of a domain: materials that meet along any line."""
