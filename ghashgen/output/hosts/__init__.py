"""The kinds of tree that `ghashgen vendor` writes into, one in each file."""
