"""The representation between formulas and bytes: `program` has its types, `builder` records it."""
