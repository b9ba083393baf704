"""The verbs of the command line, one in each file. Each exports COMMAND."""
