"""Instruction sets, one a file: instruction rows, lowering of abstract operations, CPU features.

`core` has the types, `x86` what every x86-64 set shares, `registry` finds the sets.
"""
