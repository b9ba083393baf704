"""The compiler passes: pure functions from one frozen value to the next. `pipeline` lists them."""
