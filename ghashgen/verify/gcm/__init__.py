"""AES-GCM: what its kernels claim, and what their functions mean."""
