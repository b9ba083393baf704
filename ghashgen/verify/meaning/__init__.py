"""What the functions of each family mean: what is read, what is computed, what is left."""
