"""Port bounds: known by hand, equal to an independent flow, and honest about what is missing."""

import itertools
from collections.abc import Mapping
from fractions import Fraction

import pytest
from helpers.port_loops import (
    KERNELS,
    SKX,
    C,
    R,
    clmul,
    code,
    compare,
    group,
    jump,
    shuffle,
    xor,
    xor_memory,
    xor_wide,
)
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Instruction, MemoryOperand

from ghashgen.arch.registry import uarches
from ghashgen.arch.x86_64.forms import form_of, known
from ghashgen.cost.audit import audit
from ghashgen.cost.bound import port_bound, spread
from ghashgen.cost.ports import assembly
from ghashgen.kernels.hash.kernel import Kernel


def test_products_and_shuffles_add_up_on_port_5() -> None:
    bound = port_bound([clmul(), clmul(), clmul(), shuffle()], SKX)
    assert (bound.ports, bound.busiest, bound.front_end) == (4.0, ("p5",), 1.0)
    assert bound.no_data == ()


def test_xors_fill_what_products_leave() -> None:
    # One product on p5, five xors on p0, p1 or p5: six uops on three ports.
    assert port_bound([clmul(), *[xor()] * 5], SKX).ports == 2.0
    # With one xor the product alone sets the bound.
    assert port_bound([clmul(), xor()], SKX).busiest == ("p5",)


def test_memory_operand_takes_a_load_port_and_no_slot_of_its_own() -> None:
    bound = port_bound([xor_memory()] * 8, SKX)
    assert (bound.ports, bound.busiest, bound.front_end) == (4.0, ("p2", "p3"), 2.0)


def test_front_end_bounds_what_needs_no_port() -> None:
    bound = port_bound([xor(R.XMM2, R.XMM2)] * 12, SKX)
    assert (bound.ports, bound.front_end, bound.cycles) == (0.0, 3.0, 3.0)


def test_compare_and_branch_issue_as_one() -> None:
    assert port_bound([compare(), jump()], SKX).front_end == 1 / SKX.issue
    assert port_bound([jump(), compare()], SKX).front_end == 2 / SKX.issue
    in_memory = Instruction.create_mem_i32(C.CMP_RM64_IMM32, MemoryOperand(R.RDI), 1)
    assert SKX.fuses(form_of(in_memory), "jae l") is None
    assert SKX.fuses(form_of(compare()), "jae l") is not None


def test_512_bit_work_closes_port_1_to_vectors() -> None:
    narrow = xor_wide(C.EVEX_VPXORQ_YMM_K1Z_YMM_YMMM256B64, R.YMM1)
    wide = xor_wide(C.EVEX_VPXORQ_ZMM_K1Z_ZMM_ZMMM512B64, R.ZMM1)
    assert port_bound([narrow] * 6, SKX).ports == 2.0
    assert port_bound([narrow] * 5 + [wide], SKX).ports == 3.0


def test_unknown_instruction_is_named_and_left_out() -> None:
    missing = Instruction.create_reg_reg(C.POPCNT_R64_RM64, R.RAX, R.RCX)
    bound = port_bound([missing, clmul()], SKX)
    assert (bound.no_data, bound.ports) == (("popcnt r64,r64",), 1.0)


def flow(demand: Mapping[frozenset[str], int], time: Fraction) -> bool:
    """Whether the demand fits into `time` on every port, by augmenting paths on whole units."""
    scale = time.denominator
    room = dict.fromkeys(sorted(frozenset().union(*demand)), int(time * scale))
    placed = {(ports, port): 0 for ports in demand for port in ports}

    def place(ports: frozenset[str], seen: set[str]) -> bool:
        for port in sorted(ports - seen):
            seen.add(port)
            if room[port]:
                room[port] -= 1
            else:
                moved = (p for p in demand if placed.get((p, port), 0) and place(p, seen))
                loser = next(moved, None)
                if loser is None:
                    continue
                placed[loser, port] -= 1
            placed[ports, port] += 1
            return True
        return False

    return all(place(ports, set()) for ports, n in demand.items() for _ in range(n * scale))


@given(
    st.dictionaries(
        st.frozensets(st.sampled_from(("p0", "p1", "p2", "p5")), min_size=1),
        st.integers(1, 5),
        min_size=1,
        max_size=6,
    )
)
def test_the_subset_formula_is_what_a_flow_needs(demand: dict[frozenset[str], int]) -> None:
    cycles, busiest = spread(demand)
    least = Fraction(cycles).limit_denominator(4)
    assert flow(demand, least)
    # Any less, and the ports named as busiest cannot hold what only they can take.
    bound_to = sum(n for ports, n in demand.items() if ports <= set(busiest))
    assert Fraction(bound_to, len(busiest)) == least
    subsets = itertools.chain.from_iterable(
        itertools.combinations(("p0", "p1", "p2", "p5"), n) for n in range(1, 5)
    )
    works = [(set(s), sum(n for p, n in demand.items() if p <= set(s))) for s in subsets]
    assert least == max(Fraction(work, len(ports)) for ports, work in works)


def test_winograd_16_on_cascade_lake_is_bound_by_port_5() -> None:
    loop = group(KERNELS[0])
    bound = port_bound(loop.instructions, SKX)
    # Three products and one byte swap a block; the reduction is one product and one shuffle.
    assert (bound.ports, bound.busiest) == (16 * (3 + 1) + 2, ("p5",))
    symbol, object_code = code(KERNELS[0])
    classes = audit(KERNELS[0], symbol, object_code).group.classes
    assert bound.ports == classes["clmul"] + classes["shuffle"]
    assert bound.no_data == ()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_form_of_a_kernel_is_one_that_the_decoder_knows(kernel: Kernel) -> None:
    _, object_code = code(kernel)
    forms = {form_of(i) for i in object_code.instructions.values() if not i.is_invalid}
    assert len(forms) > 10
    assert [form for form in sorted(forms) if form not in known(form.partition(" ")[0])] == []


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_group_loops_have_data_wherever_the_cpu_has_the_instructions(kernel: Kernel) -> None:
    instructions = group(kernel).instructions
    examined = 0
    for table in uarches().values():
        if not table.lacks(instructions):
            bound = port_bound(instructions, table)
            # Zen 4's fused compare and branch, and EVEX zeroing, are in no source.
            gaps = [f for f in bound.no_data if not f.startswith(("cmp ", "vpxorq x,0"))]
            assert gaps == []
            examined += 1
    assert examined >= 3


def test_skylake_lacks_what_wide_kernels_need() -> None:
    wide = group(KERNELS[3]).instructions
    lacking = {name: table.lacks(wide) for name, table in uarches().items()}
    assert lacking == {
        "icelake-server": (),
        "sapphirerapids": (),
        "skylake-avx512": ("GFNI", "VPCLMULQDQ"),
        "zen4": (),
        "zen5": (),
    }


def test_regions_hold_plain_mnemonics() -> None:
    text = assembly([group(KERNELS[0])])
    assert text.splitlines()[0] == f"# LLVM-MCA-BEGIN {KERNELS[0].name}"
    assert text.count("vpclmulqdq $") == 49
    assert "vpclmull" not in text
