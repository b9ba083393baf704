"""The machine that every target is an instance of: image, registers, flags, memory, conventions."""
