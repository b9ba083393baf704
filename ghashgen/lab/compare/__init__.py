"""Repeats papers' comparisons on this machine; each study is a file of `lab.compare.studies`."""
