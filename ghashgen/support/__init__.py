"""What knows nothing of the subject: errors, paths, files, child processes, tools, tables."""
