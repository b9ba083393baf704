"""A Go package: `cipher.AEAD` by cgo, with crypto/cipher for other CPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.output.hosts import c, plain
from ghashgen.output.hosts.core import key_bits


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    values = key_bits(kernels)
    return {**values, "sizes": ", ".join(str(bits // 8) for bits in values["key_bits"])}


HOST = replace(
    plain.HOST,
    name="go",
    title="Go: a package of AES-GCM, by cgo",
    build=lambda files, target: ("go build",),
    build_files=MappingProxyType({"go.mod": "hosts/go/go.mod.j2"}),
    files={
        "{library}.go": "hosts/go/gcm.go.j2",
        "{library}_test.go": "hosts/go/gcm_test.go.j2",
        "{library}.md": "hosts/go/page.md.j2",
    },
    needs=("Go 1.24 with cgo", "GCC or Clang, C11"),
    gets="a cipher.AEAD that is used as that of crypto/cipher is; other CPUs keep crypto/cipher",
    syntax="gas",
    wanted=c.HOST.wanted,
    values=_values,
)
