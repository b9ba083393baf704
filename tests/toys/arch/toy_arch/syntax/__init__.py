"""Its syntaxes."""
