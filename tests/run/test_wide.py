"""Wide kernels run in the emulator; and a second road to what the proof says, on basis vectors."""

from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, NO_PCLMULQDQ, lacking, too_little

from ghashgen.algebra.field.bitorder import block_from_element
from ghashgen.algebra.field.gf2 import mod
from ghashgen.algebra.field.gf128 import P
from ghashgen.check.validation import runners
from ghashgen.check.validation.hash import validate_one
from ghashgen.check.validation.runners import Emulated, Runner, native
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.selection import Choice, choose_of
from ghashgen.kernels.target import target
from ghashgen.run.built import Built, build
from ghashgen.run.emulate.convention import abi_faults
from ghashgen.run.harness import Vector
from ghashgen.support.paths import project_root

KERNELS = (
    *("ghash_avx2_winograd_clmul1_x4", "ghash_avx2_k_clmul1_x4_natural"),
    *("ghash_avx2_karatsuba_clmul2_x2", "ghash_avx2_winograd_clmul1_x16_lanes"),
    *("ghash_avx512_winograd_clmul1_x8", "ghash_avx512_winograd_clmul1_x4_natural"),
    *("ghash_avx512_schoolbook_clmul2_x4", "ghash_avx512_k_clmul1_x16_regs"),
    *("ghash_avx512vl_winograd_clmul1_x2", "ghash_avx512vl_k_clmul1_x16_natural_lanes"),
    *("polyval_avx512_winograd_clmul1_x8", "ghash_avx_winograd_clmul1_x8_stackswap"),
)
ONE_AN_ISA = (
    *("ghash_sse_k_clmul1_x1", "ghash_avx_winograd_clmul1_x1", "ghash_avx2_k_clmul1_x2"),
    *("ghash_avx512_winograd_clmul1_x4", "ghash_avx512vl_k_clmul1_x2"),
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    names = tuple(dict.fromkeys((*KERNELS, *ONE_AN_ISA)))
    folder = tmp_path_factory.mktemp("objects")
    made = build(
        choose_of(Kernel, Choice(name=names)), target(), project_root() / "generated", folder
    )
    return {item.kernel.name: item for item in made}


@pytest.mark.parametrize("name", KERNELS)
def test_wide_kernel_agrees_with_pyca_in_the_emulator(
    name: str, built: dict[str, Built], emulated: Emulated
) -> None:
    result = validate_one(emulated, built[name], 0)
    assert result.failures == ()
    assert result.cases > 300


def _basis() -> tuple[list[Vector], list[bytes]]:
    """All pairs x = e_i, h = e_j, and their products: exact for a bilinear function."""
    blocks = [block_from_element(1 << i) for i in range(128)]
    powers = [block_from_element(mod(1 << k, P)) for k in range(255)]
    pairs = [(i, j) for j in range(128) for i in range(128)]
    return [Vector(blocks[j], blocks[i]) for i, j in pairs], [powers[i + j] for i, j in pairs]


@pytest.mark.cpu(AS_FOUND)
@pytest.mark.parametrize("name", ONE_AN_ISA)
def test_mul_is_right_on_every_pair_of_basis_vectors(
    name: str, built: dict[str, Built], emulated: Emulated, tmp_path: Path, harness_folder: Path
) -> None:
    item = built[name]
    vectors, products = _basis()
    here = native([item], harness_folder)
    runner: Runner = emulated if lacking(item.features) else here
    assert runner.products(item, vectors) == products


@pytest.mark.cpu(AS_FOUND, NO_PCLMULQDQ)
def test_a_wrong_product_would_be_noticed(
    built: dict[str, Built], tmp_path: Path, as_cpu: str, harness_folder: Path
) -> None:
    item = built["ghash_sse_k_clmul1_x1"]
    here = native([item], harness_folder)
    vectors, products = _basis()
    if too_little(as_cpu, item.features, lambda: here.products(item, vectors)):
        return
    swapped = [vectors[1], vectors[0], *vectors[2:]]
    assert here.products(item, swapped) != products


def test_the_emulated_check_notices_a_broken_convention(
    emulated: Emulated, built: dict[str, Built], monkeypatch: pytest.MonkeyPatch
) -> None:
    item = built["ghash_avx512_winograd_clmul1_x4"]
    assert emulated.check(item) == []
    # As win64 the same runs are wrong: they leave rdi or vector registers changed that it keeps.
    monkeypatch.setattr(runners, "abi_faults", lambda _, *seen: abi_faults("win64", *seen))
    assert any("update" in fault for fault in emulated.check(item))


@pytest.mark.parametrize(
    ("code", "dirty"),
    [
        ("c5fd76c0", True),  # vpcmpeqd ymm0, ymm0, ymm0
        ("660f76c0", False),  # pcmpeqd xmm0, xmm0 leaves the upper part as the caller's
        ("c5f976c0", False),  # vpcmpeqd xmm0, xmm0, xmm0 clears it
    ],
)
def test_the_emulated_check_blames_for_upper_parts_that_were_written(
    emulated: Emulated, code: str, dirty: bool
) -> None:
    from ghashgen.run.emulate import raw_image

    emulator = emulated.free.get()
    try:
        answer = emulator.call(raw_image(bytes.fromhex(f"{code}c3"), symbol="f"), "f", ())
    finally:
        emulated.free.put(emulator)
    found = abi_faults("sysv", answer.before, answer.after)
    assert found == (["the upper part of vector register 0 is in use"] if dirty else [])


def test_an_emulated_kernel_of_legacy_instructions_passes(
    emulated: Emulated, built: dict[str, Built]
) -> None:
    assert emulated.check(built["ghash_sse_k_clmul1_x1"]) == []


def test_bochs_does_not_shift_by_64(emulated: Emulated, tmp_path: Path) -> None:
    """The manual defines a count of 64 as 0 left; this emulator returns the operand unchanged.

    Kernels therefore shift in two steps (functions/partial.py). If this fails, Bochs was mended.
    """
    from ghashgen.run.emulate import Buffer, raw_image

    code = bytes.fromhex("f30f7e07 66480f6ece 660fd3c1 660fd607 c3")
    image = raw_image(code, symbol="shift")
    emulator = emulated.free.get()
    try:
        results = [
            emulator.call(
                image, "shift", ("x", count), buffers=(Buffer("x", b"\xff" * 8, writable=True),)
            )
            for count in (63, 64, 65)
        ]
    finally:
        emulated.free.put(emulator)
    assert [result.buffers["x"].hex() for result in results] == [
        "01" + "00" * 7,
        "ff" * 8,
        "00" * 8,
    ]
