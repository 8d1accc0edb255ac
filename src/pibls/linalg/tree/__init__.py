"""QR of a block-sparse matrix: a tree of fronts, each a pure function, here or on other machines."""
