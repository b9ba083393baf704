"""The emitted functions as abstract programs: init, mul, update, and the two of Table 11.

Each module exports a function from a Kernel to a Program; `interface` has what they share.
"""
