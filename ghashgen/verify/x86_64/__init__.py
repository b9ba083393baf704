"""The machine: object files, decoding, registers, flags, memory, conventions, secrecy."""
