"""Assembly syntaxes, one in each file: how to write an instruction, a label and a section."""
