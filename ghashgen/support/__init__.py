"""Utilities that know nothing of the subject: errors, paths, files, child processes, tools,
tables.
"""
