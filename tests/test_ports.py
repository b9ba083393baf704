"""Port bounds: known by hand, equal to an independent flow, and honest about what is missing."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from iced_x86 import Code, Instruction, MemoryOperand, Register

from ghashgen.audit import audit
from ghashgen.audit import loop as loop_of
from ghashgen.commands.audit import COMMAND
from ghashgen.errors import GhashgenError
from ghashgen.kernel import Kernel
from ghashgen.objects import ObjectCode, read_object
from ghashgen.ports import Loop, assembly, parse, port_audit
from ghashgen.render import render
from ghashgen.target import target
from ghashgen.toolchain import assemble, find_llvm_mca, find_nasm
from ghashgen.uarch import parse as parse_table
from ghashgen.uarch import uarch, uarches
from ghashgen.uarch.bound import port_bound, spread
from ghashgen.uarch.forms import form_of, known

SKX = uarch("cascadelake")
R, C = Register, Code
KERNELS = (
    Kernel("avx", "winograd", "clmul1", 16),
    Kernel("sse", "karatsuba", "clmul2", 4),
    Kernel("avx2", "winograd", "clmul1", 4),
    Kernel("avx512", "k", "clmul1", 8, "natural"),
    Kernel("avx512vl", "schoolbook", "clmul2", 4),
)


def clmul(d: int = R.XMM1, a: int = R.XMM2) -> Instruction:
    return Instruction.create_reg_reg_reg_i32(C.VEX_VPCLMULQDQ_XMM_XMM_XMMM128_IMM8, d, a, a, 1)


def shuffle() -> Instruction:
    return Instruction.create_reg_reg_reg(C.VEX_VPSHUFB_XMM_XMM_XMMM128, R.XMM1, R.XMM2, R.XMM3)


def xor(a: int = R.XMM2, b: int = R.XMM3) -> Instruction:
    return Instruction.create_reg_reg_reg(C.VEX_VPXOR_XMM_XMM_XMMM128, R.XMM1, a, b)


def xor_memory() -> Instruction:
    where = MemoryOperand(R.RDI, displ=16)
    return Instruction.create_reg_reg_mem(C.VEX_VPXOR_XMM_XMM_XMMM128, R.XMM1, R.XMM2, where)


def xor_wide(code: int, register: int) -> Instruction:
    return Instruction.create_reg_reg_reg(code, register, register + 1, register + 2)


def compare() -> Instruction:
    return Instruction.create_reg_i32(C.CMP_RM64_IMM32, R.RCX, 256)


def jump() -> Instruction:
    return Instruction.create_branch(C.JAE_REL8_64, 0)


@cache
def code(kernel: Kernel, folder: Path) -> tuple[str, ObjectCode]:
    listing = render(kernel, target("sysv"))
    source = folder / f"{kernel.name}.asm"
    source.write_text(listing.text)
    assemble(find_nasm(), source, source.with_suffix(".o"))
    symbol = target("sysv").symbol(kernel.name)
    return symbol, read_object(source.with_suffix(".o").read_bytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ports")


def group(kernel: Kernel, folder: Path) -> Loop:
    symbol, object_code = code(kernel, folder)
    body = loop_of(object_code, f"{symbol}_update.group")
    return Loop(kernel.name, kernel.blocks, tuple(body))


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


def test_winograd_16_on_cascade_lake_is_bound_by_port_5(folder: Path) -> None:
    loop = group(KERNELS[0], folder)
    bound = port_bound(loop.instructions, SKX)
    # Three products and one byte swap a block; the reduction is one product and one shuffle.
    assert (bound.ports, bound.busiest) == (16 * (3 + 1) + 2, ("p5",))
    symbol, object_code = code(KERNELS[0], folder)
    classes = audit(KERNELS[0], symbol, object_code).group.classes
    assert bound.ports == classes["clmul"] + classes["shuffle"]
    assert bound.no_data == ()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_form_of_a_kernel_is_one_that_the_decoder_knows(kernel: Kernel, folder: Path) -> None:
    _, object_code = code(kernel, folder)
    forms = {form_of(i) for i in object_code.instructions.values() if not i.is_invalid}
    assert len(forms) > 10
    assert [form for form in sorted(forms) if form not in known(form.partition(" ")[0])] == []


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_group_loops_have_data_wherever_the_cpu_has_the_instructions(
    kernel: Kernel, folder: Path
) -> None:
    instructions = group(kernel, folder).instructions
    examined = 0
    for table in uarches().values():
        if not table.lacks(instructions):
            bound = port_bound(instructions, table)
            # Zen 4's fused compare and branch, and EVEX zeroing, are in no source.
            gaps = [f for f in bound.no_data if not f.startswith(("cmp ", "vpxorq x,0"))]
            assert gaps == []
            examined += 1
    assert examined >= 3


def test_skylake_lacks_what_wide_kernels_need(folder: Path) -> None:
    wide = group(KERNELS[3], folder).instructions
    lacking = {name: table.lacks(wide) for name, table in uarches().items()}
    assert lacking == {
        "icelake-server": (),
        "sapphirerapids": (),
        "skylake-avx512": ("GFNI", "VPCLMULQDQ"),
        "zen4": (),
    }


def test_regions_hold_plain_mnemonics(folder: Path) -> None:
    text = assembly([group(KERNELS[0], folder)])
    assert text.splitlines()[0] == f"# LLVM-MCA-BEGIN {KERNELS[0].name}"
    assert text.count("vpclmulqdq $") == 49
    assert "vpclmull" not in text


HEAD = """
name = "toy"
title = "Toy"
aliases = []
llvm = "toy"
llvm_resources = "Toy"
ports = ["p0", "p5"]
issue = 4
issue_source = ["book"]
closed_by_512 = []
closed_source = ["book"]
features = ["AVX"]
features_source = ["book"]
[sources]
book = "A book"
"""
ROW = """
[[row]]
forms = ["vpxor x,x,x"]
uops = "1*p05"
fused = 1
latency = 1
source = ["book"]
"""


def test_a_good_table_is_read() -> None:
    cost = parse_table(HEAD + ROW, "toy.toml").costs["vpxor x,x,x"]
    assert cost.uops is not None
    assert cost.uops[0].ports == {"p0", "p5"}
    assert cost.latency is not None
    assert (cost.latency.cycles, cost.latency.exact) == (1, True)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (HEAD + ROW.replace("vpxor x,x,x", "vpxor x,x"), "'vpxor x,x'"),
        (HEAD + ROW.replace("vpxor", "vpzor"), "'vpzor x,x,x'"),
        (HEAD + ROW.replace("1*p05", "1*p15"), "unknown port p1"),
        (HEAD + ROW.replace("1*p05", "p05"), "'p05'"),
        (HEAD + ROW.replace('"book"', '"rumour"'), "source rumour"),
        (HEAD + ROW.replace('["book"]', "[]"), "source .none."),
        (HEAD + ROW + ROW, "two rows for 'vpxor x,x,x'"),
        (HEAD + ROW.replace("latency", "latancy"), "'latancy'"),
        (HEAD + ROW.replace("latency = 1", 'latency = "about 1"'), "'about 1'"),
        (HEAD + ROW.replace("fused = 1\n", ""), "'fused'"),
        (HEAD.replace("AVX", "AVX9") + ROW, "AVX9"),
        (HEAD.replace("issue = 4\n", "") + ROW, "'issue'"),
        (HEAD + "[[fusion]]\nfirst = ['cmpp']\nsecond = ['jb']\nfused = 1\n", "'cmpp'"),
        ("name =", "not TOML"),
    ],
)
def test_a_bad_table_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(GhashgenError, match=named) as refusal:
        parse_table(text, "toy.toml")
    assert refusal.value.cause.startswith("toy.toml: ")


def test_unknown_microarchitecture_is_refused() -> None:
    with pytest.raises(GhashgenError, match="'core2'"):
        uarch("core2")


def fake(folder: Path, name: str, version: str, script: str = "exit 1") -> None:
    path = folder / name
    says = f'case "$*" in *--version*) echo "LLVM version {version}"; exit;; esac'
    path.write_text(f"#!/bin/sh\n{says}\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole path, apart from the shell's own tools."""
    monkeypatch.delenv("GHASHGEN_LLVM_MCA", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in ("grep", "cat"):
        found = shutil.which(tool, path="/usr/bin:/bin")
        assert found
        (tmp_path / tool).symlink_to(found)
    return tmp_path


@pytest.mark.usefixtures("only")
def test_missing_llvm_mca_is_said_and_the_table_still_answers() -> None:
    result = port_audit([Loop("toy", 1, (clmul(), shuffle()))])
    assert result.llvm_mca == ""
    assert "llvm-mca not found" in result.missing
    assert "apt-get install llvm" in result.missing
    by_name = {item.uarch: item for item in result.pressures["toy"]}
    assert by_name["skylake-avx512"].bound.ports == 2.0
    assert all(item.model is None for item in by_name.values())
    assert "llvm-mca: no data (not found)" in by_name["zen4"].notes
    assert by_name["zen4"].as_json()["llvm_mca"] == {"no_data": "not found"}


def test_the_newest_llvm_mca_is_taken(only: Path) -> None:
    fake(only, "llvm-mca", "14.0.6")
    fake(only, "llvm-mca-19", "19.1.7")
    fake(only, "llvm-mca-16", "16.0.6")
    assert find_llvm_mca().version == "19.1.7"


def test_llvm_mca_named_in_the_environment_is_not_replaced(
    only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(only, "llvm-mca", "19.1.7")
    monkeypatch.setenv("GHASHGEN_LLVM_MCA", "nonesuch")
    with pytest.raises(GhashgenError, match="nonesuch"):
        find_llvm_mca()


def answer(resource: str, *names: str) -> str:
    region = {
        "Instructions": ["a"],
        "SummaryView": {"BlockRThroughput": 3.5},
        "ResourcePressureView": {
            "ResourcePressureInfo": [
                {"InstructionIndex": 0, "ResourceIndex": 0, "ResourceUsage": 9},
                {"InstructionIndex": 1, "ResourceIndex": 0, "ResourceUsage": 1},
                {"InstructionIndex": 1, "ResourceIndex": 1, "ResourceUsage": 2.25},
            ]
        },
    }
    regions = [{"Name": name, **region} for name in names]
    resources = [f"{resource}0", f"{resource}.\x01"]
    return json.dumps({"TargetInfo": {"Resources": resources}, "CodeRegions": regions})


def test_the_total_and_its_busiest_resource_are_read() -> None:
    names, models = parse(answer("SKXPort", "toy"))
    assert names == ("SKXPort0", "SKXPort.1")
    assert models["toy"].reciprocal_throughput == 3.5
    assert (models["toy"].busiest, models["toy"].pressure) == ("SKXPort.1", 2.25)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"TargetInfo": {"Resources": []}}'])
def test_another_form_of_answer_is_refused(text: str) -> None:
    with pytest.raises(GhashgenError, match="llvm-mca"):
        parse(text)


def test_a_borrowed_model_and_an_unknown_cpu_are_no_data(only: Path) -> None:
    (only / "answer.json").write_text(answer("SKXPort", "toy"))
    script = f"""case "$*" in *znver4*)
  echo "'znver4' is not a recognized processor for this target (ignoring processor)" >&2;; esac
cat {only}/answer.json"""
    fake(only, "llvm-mca", "14.0.6", script)
    result = port_audit([Loop("toy", 2, (clmul(),))])
    items = {item.uarch: item for item in result.pressures["toy"]}
    assert result.llvm_mca == "14.0.6"
    assert items["skylake-avx512"].model is not None
    assert items["skylake-avx512"].as_json()["llvm_mca"]["cycles_per_block"] == 1.75
    assert "another CPU's model" in items["sapphirerapids"].no_model
    assert "not a recognized processor" in items["zen4"].no_model


def test_one_refused_loop_does_not_spoil_the_others(only: Path) -> None:
    (only / "answer.json").write_text(answer("SKXPort", "good"))
    script = f"""for source; do :; done
if grep -q BEGIN.bad "$source"; then echo "error: unsupported instruction" >&2; exit 1; fi
cat {only}/answer.json"""
    fake(only, "llvm-mca", "19.1.7", script)
    result = port_audit([Loop("good", 1, (clmul(),)), Loop("bad", 1, (clmul(),))])
    at = [item.uarch for item in result.pressures["good"]].index("skylake-avx512")
    assert result.pressures["good"][at].model is not None
    assert result.pressures["bad"][at].no_model == "error: unsupported instruction"


@pytest.fixture(scope="module")
def wide(folder: Path) -> Loop:
    """The loop of a kernel on zmm; assembled before the path is emptied."""
    return group(KERNELS[3], folder)


def test_what_the_cpu_lacks_has_no_bound_though_the_model_accepts_it(
    wide: Loop, only: Path
) -> None:
    (only / "answer.json").write_text(answer("SKXPort", wide.name))
    fake(only, "llvm-mca", "19.1.7", f"cat {only}/answer.json")
    items = {item.uarch: item for item in port_audit([wide]).pressures[wide.name]}
    assert "model accepts, CPU lacks GFNI, VPCLMULQDQ" in items["skylake-avx512"].notes
    figures = items["skylake-avx512"].as_json()
    assert "cycles_per_group" not in figures["table"]
    assert figures["llvm_mca"]["cycles_per_group"] == 3.5


def test_llvm_agrees_on_the_winograd_loop(folder: Path) -> None:
    try:
        find_llvm_mca()
    except GhashgenError as missing:
        pytest.skip(str(missing))
    loop = group(KERNELS[0], folder)
    items = {item.uarch: item for item in port_audit([loop]).pressures[loop.name]}
    model = items["skylake-avx512"].model
    assert model is not None
    assert (model.reciprocal_throughput, model.busiest) == (66.0, "SKXPort5")


def test_audit_shows_ports_without_llvm_mca(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHASHGEN_LLVM_MCA", "nonesuch")
    chosen = ["--isa", "avx", "--multiply", "k", "--blocks", "2", "--no-wipe"]
    shown = CliRunner().invoke(COMMAND, ["--ports", *chosen])
    assert shown.exit_code == 0
    assert "models, not measurements" in shown.output
    assert "llvm-mca not found under the name nonesuch" in shown.output
    answered = CliRunner().invoke(COMMAND, ["--ports", "--json", *chosen])
    ports = json.loads(answered.stdout)[0]["ports"]
    assert ports["llvm_mca"] is None
    assert [cpu["uarch"] for cpu in ports["cpus"]] == list(uarches())
