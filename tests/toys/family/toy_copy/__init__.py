"""A toy family: kernels that copy so many blocks."""
