"""Finds a kernel for each class of lengths; each module's first line says what it does."""
