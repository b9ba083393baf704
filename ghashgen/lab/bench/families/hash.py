"""The measurement of GHASH kernels."""

from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.interface import HASHING
from ghashgen.lab.bench.peers import PEERS
from ghashgen.records.core import DEFAULT_MODES, GCM, HASH_EDGES, HASH_PLACES, beside
from ghashgen.records.records import folder_of

CONTEST = Contest(
    family="hash",
    result="GHASH",
    default_modes=(*DEFAULT_MODES, *beside(HASH_EDGES)),
    other_modes=(GCM, *HASH_PLACES),
    peers=PEERS,
    interfaces=HASHING,
    folder=folder_of("hash"),
)
"""Of updates, in a row or chained; POLYVAL is another function and not measured."""
