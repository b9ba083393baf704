"""A Rust crate: AES-GCM behind the traits of `aead`, with `aes-gcm` for other CPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.output.hosts import c, plain
from ghashgen.output.hosts.core import key_bits
from ghashgen.output.maker import LICENCE

_OURS = {"aesni": "aes", "sse4_1": "sse4.1"}
"""CPU features whose names in Rust are others."""


def _place(file: str) -> str:
    name = PurePosixPath(file).name
    return name if name == LICENCE else f"kernels/{name}"


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    """Return also the features of the kernel that asks for the fewest."""
    least = min((kernel.instruction_set.features for kernel in kernels), key=len)
    needs = dict.fromkeys((*least, "aesni", "sse4_1"))
    features = [_OURS.get(name, name) for name in needs]
    return {**key_bits(kernels), "features": features}


HOST = replace(
    plain.HOST,
    name="rust",
    title="Rust: a crate of AES-GCM behind the traits of aead 0.5",
    place=_place,
    build=lambda files, target: ("cargo build --release",),
    build_files=MappingProxyType(
        {"Cargo.toml": "hosts/rust/Cargo.toml.j2", "build.rs": "hosts/rust/build.rs.j2"}
    ),
    files={
        "src/lib.rs": "hosts/rust/lib.rs.j2",
        "tests/agrees.rs": "hosts/rust/test.rs.j2",
        "{library}.md": "hosts/rust/page.md.j2",
    },
    needs=("Rust with cargo, and the crates aead, aes-gcm and cc", "GCC or Clang, C11"),
    gets="types that are used as aes-gcm's are; other CPUs keep aes-gcm",
    syntax="gas",
    wanted=c.HOST.wanted,
    values=_values,
)
