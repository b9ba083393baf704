"""What drives a proof, whatever the family of kernels: runs, cuts, inductions, the second line."""
