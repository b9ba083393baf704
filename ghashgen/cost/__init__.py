"""What code costs, from its bytes: counts, what it leaves behind, ports, a model of a core."""
