"""Runs accepted objects of each family, one module for each; a family names its module in
`trials`.
"""
