"""Runs accepted objects of each family, one module for each: its facet `trials`."""
