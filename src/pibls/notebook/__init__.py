"""Problems and solutions as a notebook shows them."""
