"""What validation uses of pyca/cryptography: AES on a block, in counter mode, AES-GCM, AES-GCM-SIV.

Every function raises GhashgenError if the extra `validate` is not installed.
"""

from ghashgen.support.extras import require


def encrypt_block(key: bytes, block: bytes) -> bytes:
    """Return E_K(block), 16 bytes; for several blocks, each."""
    require("validate")
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    # GCM is defined by the block cipher itself, and ECB applies that block by block.
    context = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return context.update(block) + context.finalize()


def decrypt_block(key: bytes, block: bytes) -> bytes:
    """Return the block whose encryption is `block`, 16 bytes."""
    require("validate")
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    context = Cipher(algorithms.AES(key), modes.ECB()).decryptor()
    return context.update(block) + context.finalize()


def ctr(key: bytes, counter: bytes, text: bytes) -> bytes:
    """Return a text in counter mode, from a counter block that is one number of 128 bits."""
    require("validate")
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    context = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return context.update(text) + context.finalize()


def gcm(key: bytes, iv: bytes, plaintext: bytes, aad: bytes) -> bytes:
    """Return AES-GCM's ciphertext and, in the last 16 bytes, its tag."""
    require("validate")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key).encrypt(iv, plaintext, aad)


def gcm_siv(key: bytes, nonce: bytes, plaintext: bytes, aad: bytes) -> bytes:
    """Return AES-GCM-SIV's ciphertext and, in the last 16 bytes, its tag."""
    require("validate")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    return AESGCMSIV(key).encrypt(nonce, plaintext, aad)
