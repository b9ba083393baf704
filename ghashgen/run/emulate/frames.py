"""The messages between client and worker: a JSON header and a block of bytes, each with its length.

A frame is two little-endian 32-bit lengths, the UTF-8 JSON text, then the bytes. The header holds
only numbers and short strings; contents of memory and registers are in the bytes.
"""

import json
import struct
from typing import IO, Any

_LENGTHS = struct.Struct("<II")


def write_frame(stream: IO[bytes], header: dict[str, Any], payload: bytes = b"") -> None:
    """Write one frame and flush.

    Raises:
        OSError: the other side has gone (BrokenPipeError).
    """
    text = json.dumps(header, separators=(",", ":")).encode()
    stream.write(_LENGTHS.pack(len(text), len(payload)) + text + payload)
    stream.flush()


def _read_exactly(stream: IO[bytes], length: int) -> bytes:
    parts = []
    while length:
        part = stream.read(length)
        if not part:
            raise EOFError("the other side closed the pipe within a frame")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def read_frame(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read one frame: the header and the bytes.

    Raises:
        EOFError: the stream ended.
    """
    text_length, payload_length = _LENGTHS.unpack(_read_exactly(stream, _LENGTHS.size))
    header: dict[str, Any] = json.loads(_read_exactly(stream, text_length))
    return header, _read_exactly(stream, payload_length)
