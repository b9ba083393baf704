"""The verbs of the command line, one a file, each exporting COMMAND."""
