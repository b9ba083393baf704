"""x86-64: instruction sets, conventions, syntaxes, CPU features, cores and their ports."""
