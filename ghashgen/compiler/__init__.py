"""Passes: each a pure function from one frozen value to the next; `pipeline` lists them."""
