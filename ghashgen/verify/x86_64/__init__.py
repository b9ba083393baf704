"""The machine: object files, decoding, registers, flags, memory, conventions, what is secret."""
