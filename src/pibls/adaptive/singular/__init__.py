"""What is known beforehand about corners, added to the functions of a search."""
