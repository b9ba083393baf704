"""AES-GCM: AES in counter mode and GHASH of the ciphertext, stitched into one loop."""
