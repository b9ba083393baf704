"""Figures of the documents, drawn as SVG from the project's own values.

svg.py has the shapes; each other module draws one figure; gallery.py lists them with their files.
"""
