"""What was measured and is kept: subjects, cells, statistics, one record for each CPU."""
