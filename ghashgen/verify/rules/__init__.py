"""The rules by which a certificate is checked. Nothing here searches; what is not shown fails."""
