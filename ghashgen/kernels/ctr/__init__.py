"""AES in counter mode: out = in + keystream. Nothing is authenticated."""
