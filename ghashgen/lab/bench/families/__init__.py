"""What the kernels of each family are measured in, and against: its facet `contest`."""
