"""What a machine is, as values: `rows` and `syntax` have the types, a package each machine."""
