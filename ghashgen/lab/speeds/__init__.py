"""How README and docs/results.md show the speed of each family: its facet `speed`."""
