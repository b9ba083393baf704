"""The command line: `main` finds the verbs; `verbs` holds one in each file."""
