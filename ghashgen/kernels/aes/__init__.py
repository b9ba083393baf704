"""AES and its counters, for families of kernels: no family, and it imports none."""
