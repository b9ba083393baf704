"""C programs, each in a file named by a hash of everything that it is made from, so it is made
once.

The hash says what a file should be; its seal (`ghashgen.support.sealed`) that it was made here.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import write_whole
from ghashgen.support.paths import project_root
from ghashgen.support.sealed import kept
from ghashgen.support.toolchain import Tool, compile_c, link

_COMPILE = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIE", "-g0")
# Text relocations are errors, because a kernel in a library must be position-independent.
_LINK = ("-Wl,-z,noexecstack", "-Wl,-z,text", "-Wl,--build-id=none")
HERE, ALONE = ("-pie",), ("-static-pie",)
"""How to link a program: with this machine's libraries, or with none, to run elsewhere."""


def digest(*groups: Iterable[str | bytes]) -> str:
    """Return a short hash. Each string's length is hashed before it, so that strings cannot run
    together.
    """
    state = hashlib.sha256()
    for group in groups:
        for item in group:
            data = item.encode() if isinstance(item, str) else item
            state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()[:16]


def program(
    cc: Tool,
    name: str,
    sources: Sequence[Path],
    objects: Sequence[Path],
    out_dir: Path,
    linked_as: Sequence[str] = HERE,
    made_headers: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Compile sources of harness/ or `out_dir`, link them, and return the executable.

    They may include the headers of harness/ and `made_headers`, text by name.

    Raises:
        GhashgenError: an object cannot be read, or the compiler or the linker fails.
    """
    folder = project_root() / "harness"
    headers = [path.read_bytes() for path in sorted(folder.rglob("*.h"))]
    made = [text for pair in sorted(made_headers.items()) for text in pair]
    own = out_dir / f"headers-{digest(made)}"
    for header, text in made_headers.items():
        write_whole(own / header, text)
    base: list[str | bytes] = [cc.version, *cc.command, *_COMPILE, *headers, *made]

    def compiled(source: Path) -> Path:
        made_from: list[str | bytes] = [source.name, source.read_bytes()]
        obj = out_dir / f"{source.parent.name}-{source.stem}-{digest(base, made_from)}.o"
        return kept(
            obj,
            f"C object {obj.name}",
            lambda: compile_c(cc, source, obj, flags=_COMPILE, include=(folder, own)),
        )

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        linked = [*pool.map(compiled, sources), *objects]
    contents = [_read(path) for path in linked]
    flags = (*linked_as, *_LINK)
    whole = out_dir / f"{name}-{digest([cc.version, *cc.command, *flags], contents)}"
    return kept(whole, f"program {whole.name}", lambda: link(cc, linked, whole, flags=flags))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise GhashgenError(f"{path}: {error.strerror}", "assemble the kernel first") from None
