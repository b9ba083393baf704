"""A Go package: `cipher.AEAD` by cgo, with crypto/cipher for other CPUs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ghashgen.kernels.core import Point
from ghashgen.output.hosts import c, plain
from ghashgen.output.hosts.core import key_bits
from ghashgen.output.hosts.trial import Trial

_GO = '"$(go env GOROOT)"/src/crypto'
_WYCHEPROOF = "github.com/google/wycheproof@v0.0.0-20191219022705-2196000605e4"

TRIAL = Trial(
    files={
        "go.mod": "hosts/go/trial.mod.j2",
        "measure.go": "hosts/go/measure.go.j2",
        "trial_test.go": "hosts/go/trial_test.go.j2",
    },
    programs={"go": "golang", "cc": "gcc", "ar": "binutils"},
    # Go's own tests of an AEAD are in a package that no other module may import.
    configure="sed 's/^package cryptotest/package main/; s/TestAEAD/testAEAD/' "
    f"{_GO}/internal/cryptotest/aead.go > aead_test.go && "
    "{ echo package main; sed -n '/^var aesGCMTests/,/^}$/p' "
    f"{_GO}/cipher/gcm_test.go; }} > vectors_test.go && "
    f'cp "$(go mod download -json {_WYCHEPROOF} | grep -o \'"Dir": "[^"]*\' | cut -d \'"\' -f 4)"'
    "/testvectors/aes_gcm_test.json wycheproof.json",
    make="go build -o measure . && go build -o ghashgen.a ghashgen",
    version="go version",
    tests=("go test -count=1 -v .", "go test -count=1 -v ghashgen"),
    passed=r"--- PASS: \w+ .*|\d+ vectors of .* agree",
    watched="go test -count=1 .",
    objects="ghashgen.a",
    timed="./measure ours",
    rivals={"crypto/cipher": "./measure own"},
)


def _values(kernels: Sequence[Point]) -> Mapping[str, Any]:
    values = key_bits(kernels)
    return {**values, "sizes": ", ".join(str(bits // 8) for bits in values["key_bits"])}


SHARED = {"{library}.go": "hosts/go/gcm.go.j2", "{library}_test.go": "hosts/go/gcm_test.go.j2"}
"""What a package has however it calls the kernels."""

HOST = replace(
    plain.HOST,
    name="go",
    title="Go: a package of AES-GCM, by cgo",
    build=lambda files, targets: ("go build",),
    build_files=MappingProxyType({"go.mod": "hosts/go/go.mod.j2"}),
    files={
        **SHARED,
        "{library}_cgo.go": "hosts/go/calls.go.j2",
        "{library}.md": "hosts/go/page.md.j2",
    },
    needs=("Go 1.24 with cgo", "GCC or Clang, C11"),
    gets="a cipher.AEAD that is used as that of crypto/cipher is; other CPUs keep crypto/cipher",
    syntax="gas",
    wanted=c.HOST.wanted,
    trial=TRIAL,
    values=_values,
)
