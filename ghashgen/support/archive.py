"""Members of a static library (`ar`, System V and GNU variants).

A linker picks members by the symbols that they define. Here one member is needed without the rest
of its library, whose other members would define the same symbols again.
"""

from pathlib import Path

from ghashgen.support.errors import GhashgenError

_MAGIC = b"!<arch>\n"
_HEADER = 60


def member(library: Path, ending: str) -> bytes | None:
    """Return the first member whose name ends with `ending`, or None.

    Raises:
        GhashgenError: the file cannot be read or is not an archive.
    """
    try:
        data = library.read_bytes()
    except OSError as error:
        raise GhashgenError(f"{library}: {error.strerror}") from None
    if not data.startswith(_MAGIC):
        raise GhashgenError(f"{library} is not a static library")
    long_names = b""
    at = len(_MAGIC)
    while at + _HEADER <= len(data):
        header = data[at : at + _HEADER]
        size = int(header[48:58])
        body = data[at + _HEADER : at + _HEADER + size]
        name = header[:16].rstrip()
        if name == b"//":
            long_names = body
        elif name[:1] == b"/" and name[1:].isdigit():
            name = long_names[int(name[1:]) :].split(b"\n", 1)[0]
        if name.rstrip(b"/").endswith(ending.encode()):
            return body
        at += _HEADER + size + size % 2
    return None
