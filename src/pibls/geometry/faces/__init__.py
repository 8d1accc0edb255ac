"""The boundary in faces: curves of the plane, sides of bodies, level sets, and what is left of them."""
