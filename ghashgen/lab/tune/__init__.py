"""Finds the best kernel of each class of lengths; each module's first line says what it does."""
