"""From compiled functions to files: placement, text, objects, the folder, the dispatcher."""
