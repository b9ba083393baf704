"""What a sweep decides for each family, and the calls that stand for its modes: its
facets `goal` and `calls`.
"""
