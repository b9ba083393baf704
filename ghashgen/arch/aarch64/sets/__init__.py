"""Instruction sets, one a file: rows, lowering of abstract operations, CPU features."""
