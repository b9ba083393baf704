"""A Rust crate: AES-GCM behind the traits of `aead`, with `aes-gcm` for other CPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.output.hosts import c, plain
from ghashgen.output.hosts.core import key_bits
from ghashgen.output.hosts.trial import Trial
from ghashgen.output.maker import LICENCE


def versions_of(names: str) -> str:
    """Return the command that prints the versions of crates, given as an expression."""
    return f"cargo tree --depth 1 --prefix none --edges normal | grep -oE '({names}) v[0-9.]+'"


def folder_of(crate: str) -> str:
    """Return a crate's folder, in the words of the shell; the crate may be a variable."""
    found = f"cargo metadata --format-version 1 | grep -oE '[^\"]*/'{crate}'-[0-9.]+/Cargo.toml'"
    return f'"$(dirname "$({found} | head -1)")"'


_TESTS = "cargo test --release --no-fail-fast --tests -- --nocapture"

TRIAL = Trial(
    files={
        "Cargo.toml": "hosts/rust/trial.toml.j2",
        "src/main.rs": "hosts/rust/measure.rs.j2",
        "tests/wycheproof.rs": "hosts/rust/wycheproof.rs.j2",
    },
    programs={"cargo": "cargo", "cc": "gcc", "ar": "binutils"},
    configure=f"cargo fetch && cp -r {folder_of('aes-gcm')}/tests . && "
    "rm tests/other_ivlen.rs && "
    "for n in 128 256; do grep -q Aes${n}Gcm ghashgen/src/lib.rs || rm tests/aes${n}gcm.rs; done",
    make="cargo build --release",
    version=versions_of("aes-gcm|ring|aws-lc-rs"),
    tests=(_TESTS, "cargo test --release --manifest-path ghashgen/Cargo.toml"),
    passed=r"test result: ok\. [1-9].*|\d+ vectors of Wycheproof agree",
    watched=_TESTS,
    objects="target/release/build/ghashgen-gcm-*/out/libghashgen.a",
    timed="target/release/trial ours",
    rivals={name: f"target/release/trial {name}" for name in ("aes-gcm", "ring", "aws-lc-rs")},
)

_OURS = {"aesni": "aes", "sse4_1": "sse4.1"}
"""CPU features whose names in Rust are others."""


def _place(file: str) -> str:
    name = PurePosixPath(file).name
    return name if name == LICENCE else f"kernels/{name}"


def features_of(kernels: Sequence[Point], *more: str) -> list[str]:
    """Return the features of the kernel that asks for the fewest, and others, by Rust's names."""
    least = min((kernel.instruction_set.features for kernel in kernels), key=len)
    return [_OURS.get(name, name) for name in dict.fromkeys((*least, *more))]


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    return {
        **key_bits(kernels),
        "untouched": all(getattr(kernel, "keeps_output", False) for kernel in kernels),
        "dispatcher": "gcm_dispatch",
        "sizes": ("GCM_MAX_CTX_BYTES",),
        "features": features_of(kernels, "aesni", "sse4_1"),
    }


HOST = replace(
    plain.HOST,
    name="rust",
    title="Rust: a crate of AES-GCM behind the traits of aead 0.5",
    place=_place,
    build=lambda files, targets: ("cargo build --release",),
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
    # After a wrong tag, aes-gcm keeps the ciphertext, and its tests want that.
    wanted=c.wanted(on_failure="untouched"),
    trial=TRIAL,
    values=_values,
)
