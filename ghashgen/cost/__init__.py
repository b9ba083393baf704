"""What code costs, from its bytes: counts, remaining secrets, port bounds, a model of a core."""
