"""Machines as values: `rows` and `syntax` have types; each machine is a package."""
