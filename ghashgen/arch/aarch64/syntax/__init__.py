"""Assembly syntaxes, one a file: how an instruction, a label and a section are written."""
