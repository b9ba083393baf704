"""Values that an execution computes with, and how a proof fails; no machine, no hash."""
