"""Turns compiled functions into files: placement, text, objects, the folder, the dispatcher."""
