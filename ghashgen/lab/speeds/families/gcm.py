"""What the pages say about the speed of AES-GCM."""

from ghashgen.lab.speeds.core import Columns, Speed
from ghashgen.lab.standing import (
    BURST_COLUMNS,
    GCM_COLUMNS,
    PIECES_COLUMNS,
    burst_rows,
    gcm_rows,
    pieces_rows,
)
from ghashgen.records.core import SEAL_BURSTS

SPEED = Speed(
    function="AES-GCM",
    place=1,
    mode="seal",
    chained="seal-latency",
    keys=(128, 256),
    heading="Speed of AES-GCM",
    drawn=256,
    chart="AES-{key}-GCM, sealing,",
    file="speed-gcm{key}",
    alt="AES-256-GCM",
    tables=(
        Columns(GCM_COLUMNS, gcm_rows),
        Columns(PIECES_COLUMNS, pieces_rows),
        Columns(BURST_COLUMNS, burst_rows),
    ),
    bursts=SEAL_BURSTS[0],
    calls="AES-GCM seals whole messages with 12 bytes of AAD.",
    legend=(
        "**open**, **text alone**: the ratio for opening messages, and for encrypting and hashing "
        "without AAD, lengths and tag.",
        "**AES-GCM**: messages sealed back to back, 12 bytes of AAD each. A row covers the lengths "
        "for which `recommend` names the same kernel. Its cycles are those of the first and the "
        "last length, its ratios the lowest and the highest, its spread the largest. IMIX is 64, "
        "594 and 1518 bytes at 7 : 4 : 1.",
        "**pieces**: one message of 64 KiB with 12 bytes of AAD, sealed or opened in pieces of 16 "
        "bytes, 1 KiB or 16 KiB, begin and end included.",
        "**one by one**, in tables of bursts: the time of the kernel for single packets, called "
        "for each of 32 messages, divided by that of the kernel for bursts. Cycles are those of "
        "one message. Peers are called for each message, or by their burst interfaces, whichever "
        "is faster. Each message lies at some line of a page of its own.",
    ),
)
"""The family on the pages."""
