"""The measurement of AES-CTR kernels."""

from dataclasses import replace

from ghashgen.lab.bench.contest import Contest
from ghashgen.lab.bench.peers import GCM_PEERS
from ghashgen.records.core import CRYPT, INIT_MODES
from ghashgen.records.records import folder_of

_PEERS = (
    replace(GCM_PEERS["openssl_evp"], name="openssl_ctr"),
    replace(GCM_PEERS["ipsecmb"], name="ipsecmb_ctr"),
)

CONTEST = Contest(
    family="ctr",
    result="AES-CTR",
    default_modes=(CRYPT, *sorted(INIT_MODES)),
    other_modes=(),
    peers={peer.name: peer for peer in _PEERS},
    interfaces={},
    folder=folder_of("ctr"),
)
"""Of texts, each from a counter block of its own, and of contexts."""
