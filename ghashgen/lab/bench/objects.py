"""Kernels of other libraries, given as files: a TOML file says where they are and how to call them.

```toml
[[peer]]
name = "ipsecmb_git_vaes_avx512"     # as results call it
files = ["libIPSec_MB.a"]            # objects or static libraries, beside this file or absolute
way = "ipsecmb"                      # whose interface: see WAYS
init = "ghash_pre_vaes_avx512"       # the function that fills the table
update = "ghash_vaes_avx512"         # the function that hashes
needs = ["avx512f", "vpclmulqdq"]    # CPU features, as ghashgen doctor names them
```

A way of AES-GCM has other functions (`WAYS`) and `key`, the bits of the key that they take.

The files are linked into one object in which only these functions stay visible, under names of
their own, so that two versions of one library can stand in the same program.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from ghashgen.run.machine import host
from ghashgen.support.documents import Document
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import make_folder, write_whole
from ghashgen.support.programs import digest
from ghashgen.support.sealed import kept
from ghashgen.support.templates import environment
from ghashgen.support.toolchain import Tool


@dataclass(frozen=True)
class Way:
    """The interface of a kernel; see harness/bench/objects.h."""

    table_bytes: int
    """A sufficient table size."""
    roles: tuple[str, ...] = ("init", "update")
    """The functions that are called, by their names in the file of peers."""
    other_roles: tuple[str, ...] = ()
    """Optional functions: all of them, or none."""
    keyed: bool = False
    """Whether it is an AES-GCM interface, which has key sizes."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Function names by role for a library's public interface, with {key} for the key size in bits;
    empty if a file of peers names them.
    """

    @property
    def family(self) -> str:
        """The family whose kernels it is compared with."""
        return "gcm" if self.keyed else "hash"


_AEAD = MappingProxyType(
    {
        "aead": "EVP_aead_aes_{key}_gcm",
        "init": "EVP_AEAD_CTX_init",
        "seal": "EVP_AEAD_CTX_seal_scatter",
        "open": "EVP_AEAD_CTX_open_gather",
    }
)
"""In the order of harness/bench/way_aead.h."""

_EVP = MappingProxyType(
    {
        "cipher": "EVP_aes_{key}_gcm",
        "context": "EVP_CIPHER_CTX_new",
        "begin_sealing": "EVP_EncryptInit_ex",
        "seal_more": "EVP_EncryptUpdate",
        "seal_end": "EVP_EncryptFinal_ex",
        "begin_opening": "EVP_DecryptInit_ex",
        "open_more": "EVP_DecryptUpdate",
        "open_end": "EVP_DecryptFinal_ex",
        "control": "EVP_CIPHER_CTX_ctrl",
    }
)
"""In the order of harness/bench/way_evp.h."""

_PIECES = ("start", "seal_more", "seal_end", "open_more", "open_end")
"""Functions of a library that takes messages in pieces."""

WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "ghashgen": Way(4096),
        "openssl": Way(256),
        "ipsecmb": Way(1280),
        "ipsecmb-gcm": Way(128 + 1280, ("init", "seal", "open"), _PIECES, keyed=True),
        "boringssl-gcm": Way(512, ("init", "text"), keyed=True),
        "boringssl-gcm-blocks": Way(512, ("init", "text"), keyed=True),
        "aead": Way(1024, (), keyed=True, symbols=_AEAD),
        "evp": Way(16, (), keyed=True, symbols=_EVP),
    }
)
"""Every way by name."""

_KEYS = (128, 192, 256)


@dataclass(frozen=True)
class PeerObject:
    """A kernel from files to compare with."""

    name: str
    files: tuple[Path, ...]
    way: str
    functions: Mapping[str, str]
    """Symbols by the roles of its way."""
    needs: tuple[str, ...]
    key: int = 0
    """AES key size in bits; 0 for GHASH."""

    @property
    def symbol(self) -> str:
        """Prefix of its functions' names in the benchmark, before _ and the role."""
        return f"given_{self.name}"


def load_objects(path: Path) -> tuple[PeerObject, ...]:
    """Read a file of peers.

    Raises:
        GhashgenError: the file is malformed, or names an unknown file, way or feature.
    """
    body = _FILE.parse(_FILE.content_of(path), str(path), toml=True)
    try:
        found = tuple(_peer(row, path.parent) for row in body.peer)
    except ValueError as error:
        raise _FILE.refuse(path, str(error)) from None
    names = [peer.name for peer in found]
    if not found or len(set(names)) < len(names):
        what = "it names none" if not found else "it gives a name twice"
        raise _FILE.refuse(path, what)
    return found


_ROLES = ("init", "update", "seal", "open", "text", *_PIECES)


class _Peer(Struct, frozen=True, forbid_unknown_fields=True):
    """A peer, as in the file."""

    name: str
    files: tuple[str, ...]
    way: str
    needs: tuple[str, ...]
    init: str = ""
    update: str = ""
    seal: str = ""
    open: str = ""
    text: str = ""
    start: str = ""
    seal_more: str = ""
    seal_end: str = ""
    open_more: str = ""
    open_end: str = ""
    key: int = 0


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    peer: tuple[_Peer, ...] = ()


_FILE = Document(_File, "is no file of peers", "write [[peer]] tables; see docs/bench.md")


def _peer(row: _Peer, folder: Path) -> PeerObject:
    files = tuple(folder / name for name in row.files)
    named = {role: str(getattr(row, role)) for role in _ROLES}
    functions = {role: symbol for role, symbol in named.items() if symbol}
    peer = PeerObject(row.name, files, row.way, MappingProxyType(functions), row.needs, row.key)
    if not peer.name.isidentifier() or not peer.name.isascii():
        raise ValueError(f"a peer's name is made of letters, digits and _: not {peer.name!r}")
    arch = host()
    features = tuple(arch.features) if arch else ()
    for what, value, known in (
        ("way", peer.way, tuple(WAYS)),
        *(("CPU feature", name, features) for name in peer.needs),
    ):
        if value not in known:
            raise ValueError(f"{peer.name}: no {what} is called {value!r}: {', '.join(known)}")
    way = WAYS[peer.way]
    if tuple(functions) not in (way.roles, (*way.roles, *way.other_roles)):
        needs = f"needs the functions {', '.join(way.roles)}" if way.roles else "names no function"
        if way.other_roles:
            needs += f", and may have all of {', '.join(way.other_roles)}"
        raise ValueError(f"{peer.name}: way {peer.way!r} {needs}")
    if peer.key not in (_KEYS if way.keyed else (0,)):
        sizes = "a key of 128, 192 or 256 bits" if way.keyed else "no key"
        raise ValueError(f"{peer.name}: way {peer.way!r} takes {sizes}, not key = {peer.key}")
    if missing := [file for file in peer.files if not file.is_file()]:
        raise ValueError(f"{peer.name}: {missing[0]} is not a file")
    own = {role: symbol.format(key=peer.key) for role, symbol in way.symbols.items()}
    return replace(peer, functions=MappingProxyType(own)) if own else peer


_LINK = ("-nostdlib", "-r", "-Wl,--force-group-allocation")
"""Groups that C++ shares by name must stay with each peer; otherwise two peers from one library
would have them once.
"""


def isolated(cc: Tool, peer: PeerObject, folder: Path) -> Path:
    """Link a peer's files to one object that defines only the functions of its `symbol`.

    Raises:
        GhashgenError: a function is not in the files, or they cannot be linked.
    """
    contents = [file.read_bytes() for file in peer.files]
    how = [*_LINK, *peer.functions, *peer.functions.values()]
    made = folder / f"{peer.symbol}-{digest(how, contents)}.o"
    return kept(made, f"peer {made.name}", lambda: _isolate(cc, peer, made))


def _isolate(cc: Tool, peer: PeerObject, made: Path) -> None:
    make_folder(made.parent)
    whole = made.with_suffix(".tmp.o")
    wanted = {symbol: f"{peer.symbol}_{role}" for role, symbol in peer.functions.items()}
    try:
        # From a static library, the linker takes the members that define the requested functions.
        asked = [f"-Wl,--require-defined={name}" for name in wanted]
        _run([*cc.command, *_LINK, *asked, "-o", str(whole), *map(str, peer.files)])
        renamed = [f"--redefine-sym={old}={new}" for old, new in wanted.items()]
        visible = [f"--keep-global-symbol={name}" for name in wanted]
        _run(["objcopy", *visible, str(whole)])
        _run(["objcopy", *renamed, str(whole)])
        whole.replace(made)
    except GhashgenError as refusal:
        raise GhashgenError(f"peer {peer.name}: {refusal.cause}", "see docs/bench.md") from None
    finally:
        whole.unlink(missing_ok=True)


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GhashgenError(f"{command[0]}: {error}") from None
    if done.returncode != 0:
        # The linker's first line says more than what the compiler driver adds at the end.
        raise GhashgenError((done.stderr.splitlines() or [f"{command[0]} fails"])[0])


def write_objects(peers: Sequence[PeerObject], folder: Path) -> Path:
    """Write the C table of the peers into `folder` and return its path."""
    rows = [
        {
            "name": peer.name,
            "symbol": peer.symbol,
            "way": peer.way.upper().replace("-", "_"),
            "roles": tuple(peer.functions),
            "calls": tuple(WAYS[peer.way].symbols),
            "key_bits": peer.key,
            "needs": " | ".join(f"CPU_{name.upper()}" for name in peer.needs) or "0",
            "table_bytes": WAYS[peer.way].table_bytes,
        }
        for peer in peers
    ]
    text = environment().get_template("bench_objects.c.j2").render(objects=rows)
    path = folder / f"bench_objects-{digest([text])}.c"
    write_whole(path, text)
    return path
