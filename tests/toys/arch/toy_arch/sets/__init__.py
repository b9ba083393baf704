"""Its instruction sets."""
