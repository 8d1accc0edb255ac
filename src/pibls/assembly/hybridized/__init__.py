"""Hybridized systems: one system per cell, coupled by traces on the faces."""
