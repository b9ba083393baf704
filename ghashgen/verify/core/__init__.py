"""Values that an execution computes with, and refutations. Knows no machine and no hash."""
