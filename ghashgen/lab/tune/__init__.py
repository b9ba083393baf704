"""Finds the best kernel of each class of lengths; what a module does stands in its first line."""
