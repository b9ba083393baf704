"""The measurement of AES-GCM kernels."""

from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.interface import MESSAGES
from ghashgen.lab.bench.peers import GCM_PEERS
from ghashgen.records.core import (
    IMIX,
    IMIX_BURSTS,
    PIECES,
    SEAL_BURSTS,
    SEAL_EDGES,
    SEAL_MODES,
    SEAL_PLACES,
    TEXT,
    beside,
)
from ghashgen.records.records import folder_of

CONTEST = Contest(
    family="gcm",
    result="AES-GCM",
    default_modes=(
        *(*SEAL_MODES, IMIX, TEXT, *PIECES, "init", "init-throughput"),
        *(*SEAL_BURSTS, *IMIX_BURSTS),
        *beside(SEAL_EDGES),
    ),
    other_modes=SEAL_PLACES,
    peers=GCM_PEERS,
    interfaces=MESSAGES,
    folder=folder_of("gcm"),
)
"""Of whole messages, of messages in pieces and of contexts."""
