"""One page of what is proved, counted, modelled and measured.

data.py has the values. gather.py, bounds.py and speed.py fill them from the manifest, the proofs,
the objects and a measurement. choice.py picks what a plot can show; plots.py draws; page.py writes
the HTML. The template computes nothing.
"""
