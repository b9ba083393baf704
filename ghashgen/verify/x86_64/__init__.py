"""The target x86-64: object files, decoding, rows, conventions; all as one value in `target`."""
