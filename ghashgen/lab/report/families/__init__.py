"""The report page of each family: its facet `topic`."""
