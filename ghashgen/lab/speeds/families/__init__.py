"""What the pages say about the speed of each family, one file for each."""
