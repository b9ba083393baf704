"""Libraries to compare with: how to find and link each.

Each library has a C adapter, ``harness/bench/peer_NAME.c``, which is compiled only if the library
is installed. Missing libraries are listed in the results and are no error.
"""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from ghashgen.support.archive import member
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.toolchain import Tool, find_cc

INSTALL = "apt-get install libssl-dev libipsec-mb-dev"
"""One line that installs the libraries on Debian."""


@dataclass(frozen=True)
class Peer:
    """A library whose kernels are measured.

    ``inputs`` returns the files to link, given the compiler and a folder for output. It raises
    GhashgenError, naming what is missing, if the library is not installed.
    """

    name: str
    inputs: Callable[[Tool, Path], tuple[Path, ...]]

    @property
    def adapter(self) -> str:
        """The C file that calls it, in harness/bench."""
        return f"peer_{self.name}.c"


def _file(cc: Tool, name: str) -> Path | None:
    """Return a library file from the compiler's search path."""
    try:
        answer = subprocess.run(
            [*cc.command, f"-print-file-name={name}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    path = Path(answer.stdout.strip())
    return path if path.is_absolute() and path.is_file() else None


def _members(cc: Tool, folder: Path, *names: str) -> tuple[Path, ...]:
    """Return objects extracted from OpenSSL's static library."""
    library = _file(cc, "libcrypto.a")
    if library is None:
        raise GhashgenError("libcrypto.a is not installed", "apt-get install libssl-dev")
    return tuple(_member(library, name, folder) for name in names)


def _member(library: Path, name: str, folder: Path) -> Path:
    data = member(library, f"-{name}")
    if data is None:
        raise GhashgenError(f"{library} holds no {name}")
    path = folder / f"openssl-{name}"
    if not path.exists() or path.read_bytes() != data:
        write_whole(path, data)
    return path


def _openssl(cc: Tool, folder: Path) -> tuple[Path, ...]:
    return _members(cc, folder, "ghash-x86_64.o")


def _openssl_stitched(cc: Tool, folder: Path) -> tuple[Path, ...]:
    return _members(cc, folder, "aesni-gcm-x86_64.o", "aesni-x86_64.o", "ghash-x86_64.o")


def _shared(name: str, package: str) -> Callable[[Tool, Path], tuple[Path, ...]]:
    """Return a finder of a shared library."""

    def found(cc: Tool, folder: Path) -> tuple[Path, ...]:
        library = _file(cc, name)
        if library is None:
            raise GhashgenError(f"{name} is not installed", f"apt-get install {package}")
        return (library,)

    return found


def _by_name(*peers: Peer) -> Mapping[str, Peer]:
    return MappingProxyType({peer.name: peer for peer in peers})


_IPSECMB = Peer("ipsecmb", _shared("libIPSec_MB.so", "libipsec-mb-dev"))
PEERS = _by_name(Peer("openssl", _openssl), _IPSECMB)
"""Libraries that GHASH kernels are compared with, by name. OpenSSL's are gcm_ghash_avx and
gcm_ghash_clmul.
"""
GCM_PEERS = _by_name(
    # As programs call it.
    Peer("openssl_evp", _shared("libcrypto.so", "libssl-dev")),
    # Its aesni_gcm_encrypt.
    Peer("openssl_stitched", _openssl_stitched),
    _IPSECMB,
    # Its jobs and bursts.
    replace(_IPSECMB, name="ipsecmb_burst"),
)
"""Libraries that AES-GCM kernels are compared with, by name."""


def installed(name: str) -> Path | None:
    """Return a library file of this name from a C compiler's search path, or None.

    Raises:
        GhashgenError: there is no C compiler.
    """
    return _file(find_cc(), name)
