"""The operations that a multiply scheme may use, and their three interpreters.

A scheme is written once, as a function over the `Ops` protocol (`protocol`). `integers` runs it on
128-bit integers, `symbolic` runs it on exact quadratic forms over GF(2) (`forms`), and the IR
builder records it as instructions. The formula that is proved is the formula that is emitted.
"""
