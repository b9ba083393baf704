"""What can be chosen of each family, one family a file; `registry` finds them."""
