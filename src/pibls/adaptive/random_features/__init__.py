"""One basis of random Fourier features over the whole domain."""
