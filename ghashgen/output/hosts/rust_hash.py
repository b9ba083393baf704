"""A Rust crate: GHASH and POLYVAL behind the traits of `universal-hash`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.output.hosts import rust
from ghashgen.output.hosts.core import Wanted
from ghashgen.output.hosts.trial import Trial


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    return {
        "dispatcher": "dispatch",
        "sizes": ("KEY_TABLES_BYTES", "KEY_SLOTS"),
        "features": rust.features_of(kernels),
    }


_CARGO_TEST = "cargo test --release --tests -- --nocapture"

TRIAL = Trial(
    files={
        "Cargo.toml": "hosts/rust_hash/trial.toml.j2",
        "src/main.rs": "hosts/rust_hash/measure.rs.j2",
    },
    programs=rust.TRIAL.programs,
    configure="cargo fetch && mkdir tests && for n in ghash polyval; do "
    f"cp {rust.folder_of('$n')}/tests/lib.rs tests/$n.rs; done && "
    # Both crates under one name of ours.
    "sed -i -E 's/use (ghash|polyval)::/use ours::/' tests/*.rs",
    make="cargo build --release",
    version=rust.versions_of("ghash|polyval"),
    tests=(_CARGO_TEST, "cargo test --release --manifest-path ghashgen/Cargo.toml"),
    passed=r"test result: ok\. [1-9].*",
    watched=_CARGO_TEST,
    objects="target/release/build/ghashgen-hash-*/out/libghashgen.a",
    timed="target/release/trial ours",
    rivals={"polyval": "target/release/trial polyval"},
    counts_in="{library}_dispatch.c",
)

HOST = replace(
    rust.HOST,
    name="rust-hash",
    title="Rust: a crate of GHASH and POLYVAL behind the traits of universal-hash 0.5",
    build_files=MappingProxyType(
        {"Cargo.toml": "hosts/rust_hash/Cargo.toml.j2", "build.rs": "hosts/rust/build.rs.j2"}
    ),
    files={
        "src/lib.rs": "hosts/rust_hash/lib.rs.j2",
        "tests/agrees.rs": "hosts/rust_hash/test.rs.j2",
        "{library}.md": "hosts/rust_hash/page.md.j2",
    },
    needs=(
        "Rust with cargo, and the crates universal-hash, ghash, polyval and cc",
        "GCC or Clang",
        "an allocator, for keys that last",
    ),
    gets="types that are used as GHash and Polyval are; other CPUs keep ghash and polyval",
    wanted=Wanted(
        *("hash", "lasting", {"op": ("ghash", "polyval")}, frozenset({"init", "update"})),
        added=lambda: tuple(
            Kernel(isa, "k", "clmul1", 1, op=op, segments=True)
            for isa in ("sse", "avx")
            for op in ("ghash", "polyval")
        ),
    ),
    trial=TRIAL,
    values=_values,
)
