"""AES-GCM of a TLS 1.2 record: C with tables, and instructions for AES and carry-less products.

The paper states cycles per byte of AES-GCM with table lookups and with instructions (Table 2, and
the text below it for larger keys). The rows with instructions here are SSE, which the paper had,
and later sets. A record's AAD has 13 bytes: sequence number, type, version, length (RFC 5246,
section 6.2.3.3).
"""

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.compare.core import Group, Study, Variant

_TABLES = {128: 29.5}
_INSTRUCTIONS = {128: 3.9, 192: 4.2, 256: 4.5}
"""Cycles per byte, by key size in bits."""

_OURS = (("SSE", "sse", 6), ("AVX", "avx", 6), ("VAES, 512 bits", "avx512", 24))


def _group(key: int) -> Group:
    tables = Variant("C, tables", f"ref_gcm{key}_tables", _TABLES.get(key), False)
    ours = [
        Variant(
            label,
            GcmKernel(key, isa, "winograd", "clmul1", blocks),
            _INSTRUCTIONS[key] if isa == "sse" else None,
        )
        for label, isa, blocks in _OURS
    ]
    return Group(f"AES-{key}", (tables, *ours))


STUDY = Study(
    name="tls",
    title="a TLS record by C with tables and by instructions",
    source="papers/tls-aes-gcm-results, section 7.2",
    mode="seal",
    contest=AES_GCM,
    aad=13,
    sizes=(64, 256, 1024, 1400, 4096, 16384),
    groups=tuple(_group(key) for key in (128, 192, 256)),
    time_source="papers/tls-aes-gcm-results, Table 2 and the text below it, cycles a byte",
    time_unit="c/B",
    differs=(
        "The paper's C takes 10 cycles a byte for GHASH by tables. The C here is this "
        "project's: AES with four tables of 1 KiB, GHASH with one of 256 bytes.",
        "The paper gives one figure per key size, without the size of a message.",
        "The paper's kernels reduce by shifts, and its 32-nm cores are slower at products. The "
        "kernels here are this project's choice.",
    ),
)
