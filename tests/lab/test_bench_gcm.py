"""The benchmark of AES-GCM: checked, measured, told apart, kept. No timing decides a test."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.benching import ANY
from helpers.benching_gcm import KERNELS, NEEDS, assembled, planted
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking
from helpers.verbs import called, refused

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.lab.bench import Results, bench
from ghashgen.lab.bench.export import as_rows
from ghashgen.lab.bench.families.gcm import CONTEST as AES_GCM
from ghashgen.lab.bench.objects import load_objects
from ghashgen.lab.bench.peers import installed
from ghashgen.lab.bench.table import best_table, full_table
from ghashgen.lab.store import open_store
from ghashgen.records.core import (
    IMIX_BURST_BYTES,
    IMIX_BURSTS,
    IMIX_BYTES,
    PIECES,
    PIECES_BYTES,
    SEAL_BURSTS,
    SEAL_EDGES,
    SEAL_MODES,
    Cell,
    Machine,
    Run,
    Subject,
    beside,
)
from ghashgen.records.records import load_record, write_record
from ghashgen.run.table import HarnessKernel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import compile_c, find_cc

WHOLE_MODES = (*SEAL_MODES, *beside(SEAL_EDGES))
IN_PIECES = {(mode, PIECES_BYTES) for mode in PIECES}


BURSTS = {(mode, size) for mode in SEAL_BURSTS for size in (16, 21, 100)} | {
    (mode, IMIX_BURST_BYTES) for mode in IMIX_BURSTS
}
"""What is measured of interfaces that take only bursts."""

WHOLE = (
    BURSTS
    | {(mode, size) for mode in WHOLE_MODES for size in (16, 21, 100)}
    | {("imix", IMIX_BYTES), ("init", 0), ("init-throughput", 0)}
)
"""What is measured of subjects that take whole messages."""


def measured(kernels: Sequence[HarnessKernel], folder: Path, *modes: str) -> Results:
    return bench(
        kernels,
        ("portable", *AES_GCM.peers),
        (16, 21, 100),
        modes or None,
        1,
        effort=ANY,
        out_dir=folder,
        contest=AES_GCM,
    )


@pytest.mark.cpu
def test_everything_is_checked_and_measured(folder: Path) -> None:
    kernels = assembled(folder)
    results = measured(kernels, folder)
    for kernel in kernels:
        cells = {(cell.mode, cell.size) for cell in results.cells if cell.name == kernel.name}
        if missing := lacking(kernel.needs):
            assert results.missing[kernel.name] == f"this CPU lacks {' '.join(missing)}"
            assert not cells
        else:
            own = IN_PIECES if kernel.key_bits == 128 else set()
            assert cells == WHOLE | {("text", size) for size in (16, 21, 100)} | own
        assert results.subjects[kernel.name].key == kernel.key_bits
    for peer in ("ref_gcm128_tables", "openssl_evp_128", "openssl_evp_256"):
        found = {(cell.mode, cell.size) for cell in results.cells if cell.name == peer}
        wanted = WHOLE | (set() if peer.startswith("ref") else IN_PIECES)
        assert found == wanted or "openssl_evp" in results.missing
    libraries = {cell.name for cell in results.cells if cell.name.startswith("ipsecmb")}
    assert libraries or any(name.startswith("ipsecmb") for name in results.missing)
    for peer in libraries:
        found = {(cell.mode, cell.size) for cell in results.cells if cell.name == peer}
        only = "_jobs_" in peer or "_burst_" in peer
        assert found == (BURSTS if only else WHOLE | IN_PIECES)
    for interface in ("_jobs_", "_burst_"):
        assert any(interface in peer for peer in libraries) or not libraries
    # The kernels have two sizes of key; what has the third is not measured.
    assert results.keys == (128, 256)
    assert not any(name.endswith("192") for name in results.subjects)


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: f"aes{kernel.key}")
@pytest.mark.parametrize(
    ("function", "length", "wrong"),
    [
        ("encrypt", "r9", "xor byte [rsi + 15], 1"),
        ("encrypt", "r9", "xor byte [rdx], 128"),
        ("seal", "qword [rsp + 8]", "xor byte [rsi + 11], 1"),
        ("seal", "qword [rsp + 8]", "dec r8"),
        ("open", "qword [rsp + 8]", "inc byte [rsi + 11]"),
        ("open", "qword [rsp + 8]", "xor eax, eax\n    ret"),
    ],
    ids=["counter", "state", "iv", "aad", "iv-of-open", "any-tag-is-right"],
)
def test_what_is_wrong_ends_the_run(
    kernel: GcmKernel, function: str, length: str, wrong: str, folder: Path
) -> None:
    head = f"    cmp {length}, 21\n    jne .fine\n    {wrong}\n.fine:\n"
    fault = planted(folder, kernel, function, head)
    mode = "text" if function == "encrypt" else function
    if lacking(NEEDS):
        assert "faulty" in measured([fault], folder, mode).missing
        return
    with pytest.raises(GhashgenError, match="faulty gives a wrong AES-GCM for 21 bytes"):
        measured([fault], folder, mode)


ANY_TAG = """
    push rsi
    push rdx
    sub rsp, 8
    call .real
    add rsp, 8
    pop rdx
    pop rsi
.whole:
    mov qword [rsi + 72], 0
    add rsi, 80
    dec rdx
    jnz .whole
    ret
.real:
"""
"""At the head of open_many: every message's status is 0."""


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize(
    ("function", "wrong"),
    [("seal_many", "    dec rdx\n"), ("open_many", "    dec rdx\n"), ("open_many", ANY_TAG)],
    ids=["seal-one-less", "open-one-less", "any-tag-is-right"],
)
def test_what_is_wrong_in_bursts_ends_the_run(function: str, wrong: str, folder: Path) -> None:
    fault = planted(folder, KERNELS[1], function, wrong)
    mode = "open-burst" if function == "open_many" else "seal-burst"
    if lacking(NEEDS):
        assert "faulty" in measured([fault], folder, mode).missing
        return
    with pytest.raises(GhashgenError, match="faulty gives a wrong AES-GCM for 16 bytes"):
        measured([fault], folder, mode)


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
@pytest.mark.parametrize(
    ("function", "wrong"),
    [
        ("start", "inc byte [rdx]"),
        ("aad", "xor eax, eax\n    ret"),
        ("encrypt_more", "inc byte [rsi]"),
        ("decrypt_more", "inc byte [rsi + 32]"),
        ("finish", "inc byte [rsi + 64]"),
        ("verify", "xor eax, eax\n    ret"),
    ],
)
def test_what_is_wrong_in_pieces_ends_the_run(function: str, wrong: str, folder: Path) -> None:
    fault = planted(folder, KERNELS[0], function, f"    {wrong}\n")
    if lacking(NEEDS):
        assert "faulty" in measured([fault], folder, "pieces-1k").missing
        return
    with pytest.raises(GhashgenError, match="faulty gives a wrong AES-GCM for 16 bytes"):
        measured([fault], folder, "pieces-1k")


def _cell(name: str, size: int, mode: str, cycles: float) -> Cell:
    return Cell(name, size, mode, (Run(cycles, cycles - 1, cycles + 1, 11, 2),))


def results_by_hand() -> Results:
    names = {"k128": 40.0, "p128": 50.0, "k256": 60.0, "p256": 90.0}
    subjects = {
        name: Subject(name, "kernel" if name[0] == "k" else "peer", 512, key=int(name[1:]))
        for name in names
    }
    cells = [
        *(_cell(name, 16, "seal", cycles) for name, cycles in names.items()),
        *(_cell(name, 16, "seal-latency", 2 * cycles) for name, cycles in names.items()),
        *(_cell(name, IMIX_BYTES, "imix", 30 * cycles) for name, cycles in names.items()),
        *(_cell(name, 0, "init", 5 * cycles) for name, cycles in names.items()),
    ]
    return Results(Machine("a CPU", NEEDS, 3.1, "abc"), subjects, tuple(cells), {})


def test_keys_of_two_sizes_are_not_compared() -> None:
    results = results_by_hand()
    for key, ratio in ((128, "1.25"), (256, "1.50")):
        (row,) = best_table(results, "seal", key).rows
        assert (row[1], row[4], row[7]) == (f"k{key}", f"p{key}", ratio)
        assert {row[0] for row in full_table(results, "seal", key).rows} == {f"k{key}", f"p{key}"}
    assert best_table(results, "seal").rows == ()
    ratios = {row["name"]: row["peer_ratio"] for row in as_rows(results) if row["mode"] == "imix"}
    assert ratios == {"k128": 1.25, "p128": 1.0, "k256": 1.5, "p256": 1.0}


def test_a_record_gives_back_what_it_was_given(tmp_path: Path) -> None:
    results = results_by_hand()
    found = load_record(write_record(results, "cpu", tmp_path)).results
    assert found.subjects == results.subjects
    kept = {(cell.name, cell.size, cell.mode): cell.cycles for cell in found.cells}
    assert kept == {(cell.name, cell.size, cell.mode): cell.cycles for cell in results.cells}
    with pytest.raises(GhashgenError, match="k128 imix"):
        write_record(
            replace(results, cells=tuple(c for c in results.cells if c.mode != "imix")),
            "cpu",
            tmp_path,
        )


def test_a_store_keeps_the_size_of_keys(tmp_path: Path) -> None:
    with open_store(tmp_path / "bench.sqlite") as store:
        store.add(results_by_hand())
        assert store.load().subjects == results_by_hand().subjects


GIVEN = {
    "name": "given",
    "files": ["given.o"],
    "way": "boringssl-gcm",
    "key": 128,
    "init": "an_init",
    "text": "an_update",
    "needs": ["aesni"],
}


def listed(folder: Path, **changes: object) -> Path:
    (folder / "given.o").write_bytes(b"")
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**GIVEN, **changes}.items()]
    path = folder / "peers.toml"
    path.write_text("\n".join(["[[peer]]", *lines, ""]))
    return path


def test_a_way_has_functions_and_a_key_of_its_own(tmp_path: Path) -> None:
    (peer,) = load_objects(listed(tmp_path))
    assert (peer.key, dict(peer.functions)) == (128, {"init": "an_init", "text": "an_update"})
    for changes, why in (
        ({"key": 0}, "takes a key of 128, 192 or 256 bits, not key = 0"),
        ({"way": "openssl", "update": "u", "text": ""}, "takes no key, not key = 128"),
        ({"text": ""}, "needs the functions init, text"),
        ({"update": "u"}, "needs the functions init, text"),
        (
            {"way": "ipsecmb-gcm", "text": "", "seal": "s", "open": "o", "start": "b"},
            "init, seal, open, and may have all of start, seal_more, seal_end, open_more, open_end",
        ),
    ):
        with pytest.raises(GhashgenError, match=why):
            load_objects(listed(tmp_path, **changes))


def test_a_way_of_a_library_names_its_functions(tmp_path: Path) -> None:
    own = {"init": "", "text": "", "key": 256}
    (peer,) = load_objects(listed(tmp_path, **own, way="aead"))
    assert list(peer.functions.values()) == [
        "EVP_aead_aes_256_gcm",
        "EVP_AEAD_CTX_init",
        "EVP_AEAD_CTX_seal_scatter",
        "EVP_AEAD_CTX_open_gather",
    ]
    (peer,) = load_objects(listed(tmp_path, **own, way="evp"))
    assert (peer.functions["cipher"], len(peer.functions)) == ("EVP_aes_256_gcm", 9)
    with pytest.raises(GhashgenError, match="names no function"):
        load_objects(listed(tmp_path, **{**own, "init": "an_init"}, way="aead"))


@pytest.mark.cpu(AS_FOUND)
def test_a_static_libcrypto_is_called_as_programs_do(folder: Path, tmp_path: Path) -> None:
    """Checked against the judge like all, and measured in every mode of whole messages."""
    library = installed("libcrypto.a")
    if library is None:
        pytest.skip("no libcrypto.a: apt-get install libssl-dev")
    own = {"init": "", "text": "", "needs": [], "files": [str(library)]}
    given = load_objects(listed(tmp_path, **own, way="evp"))
    results = bench(
        assembled(folder)[:1],
        (),
        (16, 21, 100),
        runs=1,
        effort=ANY,
        out_dir=folder,
        contest=AES_GCM,
        given=given,
    )
    assert {(c.mode, c.size) for c in results.cells if c.name == "given"} == WHOLE | IN_PIECES


STUB = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
static char kind;
const void *EVP_aead_aes_128_gcm(void) { return &kind; }
int EVP_AEAD_CTX_init(void *c, const void *aead, const uint8_t *key, size_t n, size_t t, void *e)
{ (void)c, (void)aead, (void)key, (void)e; return n == 16 && t == 16; }
int EVP_AEAD_CTX_seal_scatter(const void *c, uint8_t *out, uint8_t *tag, size_t *got, size_t most,
                              const uint8_t *iv, size_t iv_len, const uint8_t *in, size_t len,
                              const uint8_t *more, size_t more_len, const uint8_t *aad, size_t n)
{ (void)c, (void)iv, (void)iv_len, (void)more, (void)more_len, (void)aad, (void)n;
  memcpy(out, in, len); memset(tag, 0, most); *got = most; return 1; }
int EVP_AEAD_CTX_open_gather(const void *c, uint8_t *out, const uint8_t *iv, size_t iv_len,
                             const uint8_t *in, size_t len, const uint8_t *tag, size_t tag_len,
                             const uint8_t *aad, size_t n)
{ (void)c, (void)out, (void)iv, (void)iv_len, (void)in, (void)len, (void)tag, (void)tag_len,
  (void)aad, (void)n; return 1; }
"""


@pytest.mark.cpu(AS_FOUND)
def test_an_aead_that_is_wrong_ends_the_run(folder: Path, tmp_path: Path) -> None:
    """A stand-in that copies: the way is built and called, and what it gives is looked at."""
    cc = find_cc()
    (tmp_path / "stub.c").write_text(STUB)
    compile_c(cc, tmp_path / "stub.c", tmp_path / "stub.o")
    own = {"init": "", "text": "", "needs": [], "files": ["stub.o"]}
    given = load_objects(listed(tmp_path, **own, way="aead"))
    with pytest.raises(GhashgenError, match="given gives a wrong AES-GCM for 16 bytes"):
        bench((), (), (16,), ("seal",), 1, effort=ANY, out_dir=folder, contest=AES_GCM, given=given)


COUNTING = """
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
void KERNEL_init(void *ctx, const uint8_t *key);
int KERNEL_seal(const void *ctx, const uint8_t *iv, size_t iv_len, const uint8_t *aad, size_t n,
                const uint8_t *in, size_t len, uint8_t *out, uint8_t *tag);
int KERNEL_open(const void *ctx, const uint8_t *iv, size_t iv_len, const uint8_t *aad, size_t n,
                const uint8_t *in, size_t len, uint8_t *out, const uint8_t *tag, size_t tag_len);
static _Alignas(64) uint8_t context[8192];
static unsigned differed;
const void *EVP_aead_aes_128_gcm(void) { return context; }
int EVP_AEAD_CTX_init(void *c, const void *aead, const uint8_t *key, size_t n, size_t t, void *e)
{ (void)c, (void)aead, (void)n, (void)t, (void)e; KERNEL_init(context, key); return 1; }
int EVP_AEAD_CTX_seal_scatter(const void *c, uint8_t *out, uint8_t *tag, size_t *got, size_t most,
                              const uint8_t *iv, size_t iv_len, const uint8_t *in, size_t len,
                              const uint8_t *more, size_t more_len, const uint8_t *aad, size_t n)
{ (void)c, (void)more, (void)more_len; *got = most;
  return !KERNEL_seal(context, iv, iv_len, aad, n, in, len, out, tag); }
int EVP_AEAD_CTX_open_gather(const void *c, uint8_t *out, const uint8_t *iv, size_t iv_len,
                             const uint8_t *in, size_t len, const uint8_t *tag, size_t tag_len,
                             const uint8_t *aad, size_t n)
{ int status = KERNEL_open(context, iv, iv_len, aad, n, in, len, out, tag, tag_len);
  (void)c;
  if (status && ++differed > MOST) abort();
  return !status; }
"""


@pytest.mark.cpu(AS_FOUND)
def test_what_is_measured_has_the_right_tag(folder: Path, tmp_path: Path) -> None:
    """A tag that differs is given once a size, in the check: clearing is not measured."""
    kernel = assembled(folder)[0]
    if lacking(kernel.needs):
        pytest.skip(f"this CPU lacks {' '.join(lacking(kernel.needs))}")
    sizes = (16, 21, 100)
    code = COUNTING.replace("KERNEL", kernel.symbol).replace("MOST", str(len(sizes)))
    (tmp_path / "stub.c").write_text(code)
    compile_c(find_cc(), tmp_path / "stub.c", tmp_path / "stub.o")
    own = {"init": "", "text": "", "needs": [], "files": ["stub.o", str(kernel.obj)]}
    given = load_objects(listed(tmp_path, **own, way="aead"))
    modes = ("open", "open-latency")
    results = bench(
        (), (), sizes, modes, 1, effort=ANY, out_dir=folder, contest=AES_GCM, given=given
    )
    found = {(c.mode, c.size) for c in results.cells if c.name == "given"}
    assert found == {(mode, size) for mode in modes for size in sizes}


@pytest.mark.cpu
def test_the_command_takes_the_family_of_the_choice(tmp_path: Path) -> None:
    words = "--family gcm --key 192 --isa avx --multiply karatsuba --reduce clmul2 --blocks 4"
    more = f"--peer portable --sizes 16 --quick --json --store {tmp_path / 's.sqlite'}"
    result = called("bench", *words.split(), *more.split())
    answer = json.loads(result.stdout)
    assert {cell["key"] for cell in answer["cells"]} == {192}
    assert "no mode is named 'throughput'" in refused(
        "bench", *words.split(), *more.split(), "--mode", "throughput"
    )
