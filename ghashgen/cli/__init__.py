"""The command line: `main` finds the verbs, `verbs` has one a file."""
