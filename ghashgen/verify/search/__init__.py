"""Finds certificates. Nothing here is trusted: `ghashgen.verify.rules` checks what it finds."""
