"""Repeats the comparisons of papers on this machine; a study is a file of `lab.compare.studies`."""
