"""Recorded measurements: subjects, cells, statistics, and one record for each CPU."""
