"""The choices that each family offers, one file for each: its facet `question`."""
