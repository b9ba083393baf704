"""Instruction sets, one in each file: rows, lowering of abstract operations, CPU features."""
