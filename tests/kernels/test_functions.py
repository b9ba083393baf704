"""Functions from outside the package: one file each, found everywhere, and no proof unstated."""

import json
import random
import re
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from click.testing import CliRunner
from helpers.cpus import too_little
from helpers.emulating import needs_emulator, pooled
from helpers.plugging import plugged

from ghashgen.check.attack.leaks import leaks
from ghashgen.check.ledger import theorems
from ghashgen.check.proofs import prove, statement
from ghashgen.check.validation.runners import Runner, native
from ghashgen.cli.verbs import prove as prove_command
from ghashgen.kernels.core import LENGTH, Counted, Direction, Fixed, Function, Param, Table, Word
from ghashgen.kernels.exported import found_in
from ghashgen.kernels.families import functions_of
from ghashgen.kernels.hash import functions as package
from ghashgen.kernels.hash.family import FAMILY
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import runnable
from ghashgen.output.generate import produce
from ghashgen.run.arguments import Memory, arguments, in_place
from ghashgen.run.built import Built, build
from ghashgen.run.emulate import Emulator
from ghashgen.support.errors import GhashgenError

TOYS = Path(__file__).parents[1] / "toys" / "function"
KERNEL = Kernel("sse", "k", "clmul1", 1)
GIVEN = ("init", "mul", "update")
SEGMENTS = ("power", "combine")
PROTOTYPE = (
    "({const}void *table, uint8_t x[16], const uint8_t y[16], const uint8_t *in, size_t blocks, "
    "uint8_t *out, uint64_t skip)"
)
conventions = pytest.mark.parametrize("abi", ["sysv", "win64"])


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the family look into a folder of toys, and forget them afterwards."""
    yield from plugged(package, TOYS, monkeypatch)


def made(abi: str, folder: Path, prefix: str = "") -> Built:
    (built,) = build([KERNEL], runnable(abi, prefix), folder / "none", folder)
    return built


def test_functions_are_found_in_their_own_order() -> None:
    assert tuple(FAMILY.functions()) == (*GIVEN, *SEGMENTS, "column")
    assert tuple(functions_of(KERNEL)) == GIVEN


@pytest.mark.usefixtures("toys")
def test_the_toys_are_found_where_their_order_puts_them() -> None:
    assert tuple(functions_of(KERNEL)) == ("init", "mul", "toyagain", "update", "toychain")


def test_two_functions_of_one_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from ghashgen.kernels.hash.functions.mul import FUNCTION\n"
    (tmp_path / "toy_double.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    with pytest.raises(GhashgenError, match=r"functions has two entries of the name 'mul'"):
        found_in(package)
    sys.modules.pop(f"{package.__name__}.toy_double")


@pytest.mark.usefixtures("toys")
@conventions
def test_a_toy_is_in_everything_that_is_emitted(abi: str) -> None:
    output = produce([KERNEL], runnable(abi, "my_"), {}, True)
    (artefact,) = output.artefacts
    symbol = f"my_{KERNEL.name}_toychain"
    prototype = f"void {symbol}{PROTOTYPE.format(const='const ')}"
    assert f"; {prototype}\n;   running sums, a toy\n" in artefact.text
    assert f"{symbol}:\n" in artefact.text
    assert f"\n{prototype};\n" in output.files["my_ghashgen.h"]
    entry = json.loads(output.files["MANIFEST.json"])["kernels"][0]
    assert entry["symbols"]["toychain"] == symbol
    for key in ("stack_bytes", "spill_slots", "registers", "left", "code_bytes"):
        assert list(entry[key]) == list(functions_of(KERNEL)), key
    assert entry["counts"]["functions"]["toychain"]["instructions"] > 10
    pointer = f"void (*toychain){PROTOTYPE.format(const='const ')};"
    assert pointer in output.files["my_ghashgen_dispatch.h"]


def expected(x: bytes, y: bytes, blocks: list[bytes]) -> list[bytes]:
    def add(a: bytes, b: bytes) -> bytes:
        return bytes(p ^ q for p, q in zip(a, b, strict=True))

    return list(accumulate(blocks, add, initial=add(x, y)))


def require_right(runner: Runner, built: Built) -> None:
    """Call both toys: one chains blocks, the other is mul."""
    rng = random.Random(3)
    key = rng.randbytes(16)
    table = runner.calls(built, "init", [{"h": key}])[0]["table"]
    x, y = rng.randbytes(16), rng.randbytes(16)
    for count, skip in ((0, 0), (1, 0), (5, 0), (5, 2), (3, 3), (2, 7)):
        source = [rng.randbytes(16) for _ in range(count)]
        values = {"table": table, "x": x, "y": y, "in": b"".join(source), "skip": skip}
        answer = runner.calls(built, "toychain", [values])[0]
        sums = expected(x, y, source[skip:])
        assert answer["x"] == sums[-1], (count, skip)
        assert answer["out"].startswith(b"".join(sums[1:])), (count, skip)
    values = {"table": table, "x": x}
    assert runner.calls(built, "toyagain", [values]) == runner.calls(built, "mul", [values])


@pytest.mark.cpu
@pytest.mark.usefixtures("toys")
@conventions
@pytest.mark.parametrize("prefix", ["", "my_"])
def test_a_toy_runs_natively(
    abi: str, prefix: str, tmp_path: Path, as_cpu: str, harness_folder: Path
) -> None:
    built = made(abi, tmp_path, prefix)
    runner = native([built], harness_folder)
    attempt = lambda: runner.calls(built, "mul", [{"table": bytes(32), "x": bytes(16)}])  # noqa: E731
    if too_little(as_cpu, built.features, attempt):
        return
    require_right(runner, built)
    assert runner.check(built) == []


@needs_emulator[0]
@pytest.mark.usefixtures("toys")
@conventions
def test_a_toy_runs_in_the_emulator(abi: str, tmp_path: Path) -> None:
    built = made(abi, tmp_path, "my_")
    with Emulator() as emulator:
        runner = pooled(emulator)
        require_right(runner, built)
        assert runner.check(built) == []
        count, wrong = leaks(emulator, emulator.load(built.obj), built)
    assert count > 2 * len(functions_of(KERNEL))
    assert wrong == ""


@pytest.mark.usefixtures("toys")
def test_what_states_nothing_is_not_proved() -> None:
    with pytest.raises(GhashgenError, match="_toychain has no statement that the prover knows"):
        statement(KERNEL, KERNEL.name, "sysv")
    words = ["--isa", "sse", "--multiply", "k", "--reduce", "clmul1", "--blocks", "1"]
    result = CliRunner().invoke(prove_command.COMMAND, words)
    assert isinstance(result.exception, GhashgenError)
    assert "proved" not in result.output


@pytest.mark.usefixtures("toys")
def test_what_states_a_known_operation_is_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        package, "__path__", [p for p in package.__path__ if p != str(TOYS)] + [str(tmp_path)]
    )
    text = (TOYS / "toy_again.py").read_text(encoding="utf-8")
    (tmp_path / "toy_again.py").write_text(text, encoding="utf-8")
    found = prove([made("sysv", tmp_path)], tmp_path, tmp_path / "certificates", fresh=True)
    (verdict,) = found.verdicts
    assert verdict.proved
    own = {line.split()[2] for line in theorems([verdict]) if " toyagain " in line}
    assert own == {"function", "memory", "constant-time", "abi"}


TOY = Function(
    "toy",
    1,
    (
        Param("table", "table", Table(), Direction.OUT),
        Param("in", "input", Counted("blocks", 16)),
        Param("blocks", "length", LENGTH, secret=False),
        Param("y", "result", Fixed(16), Direction.OUT, align=16),
        Param("m", "exponent", Word(), secret=False),
    ),
    lambda kernel: "a toy",
    lambda b, kernel: None,
)


def test_arguments_follow_from_the_parameters() -> None:
    assert TOY.prototype("f") == (
        "void f(void *table, const uint8_t *in, size_t blocks, uint8_t y[16], uint64_t m)"
    )
    data = bytes(48)
    assert list(arguments(TOY, {"in": data, "m": 7}, 72, 64)) == [
        Memory("table", 72, True, 56),
        Memory("in", data, False, 0),
        3,
        Memory("y", 16, True, 0),
        7,
    ]


def test_in_place_two_parameters_have_one_memory() -> None:
    one, other = Param("x", "x", Fixed(4)), Param("y", "y", Fixed(4), Direction.OUT, may_be="x")
    function = Function("f", 1, (one, TOY.params[4], other), TOY.purpose, TOY.build)
    given = arguments(function, {"x": b"text", "m": 7}, 72, 1)
    assert [x.name for x in given if isinstance(x, Memory)] == ["x", "y"]
    both = Memory("y", b"text", True, 0)
    assert in_place(function, given) == (both, 7, both)
    assert in_place(TOY, (1, 2)) == (1, 2)


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"in": bytes(48)}, "toy lacks a value for m"),
        ({"m": 1}, "toy lacks a value for blocks"),
        ({"in": bytes(47), "m": 1}, "toy needs 32 bytes for in, not 47"),
        ({"in": bytes(16), "blocks": 2, "m": 1}, "toy needs 32 bytes for in, not 16"),
        ({"in": b"", "m": 1, "y": bytes(5)}, "toy needs 16 bytes for y, not 5"),
        ({"in": b"", "m": 1, "z": 0}, "toy has no parameter 'z'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(values: dict[str, bytes | int], cause: str) -> None:
    with pytest.raises(GhashgenError, match=re.escape(cause)):
        arguments(TOY, values, 72, 1)


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ((Param("in", "input", Counted("len")),), "len is not a number that counts a buffer"),
        ((Param("x", "x", Fixed(1)),) * 2, "uniquely named parameters"),
        (
            (Param("x", "x", Fixed(1)), Param("y", "y", Fixed(2), may_be="x")),
            "x is not memory like y",
        ),
        (tuple(Param(f"p{i}", "x", Word()) for i in range(13)), "at most 12 uniquely"),
    ],
)
def test_a_function_that_makes_no_sense_is_refused(params: tuple[Param, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Function("f", 1, params, TOY.purpose, TOY.build)


@pytest.mark.parametrize(
    ("size", "more"),
    [(Word(), {"direction": Direction.OUT}), (Word(), {"align": 8}), (Fixed(16), {"align": 3})],
)
def test_a_parameter_that_makes_no_sense_is_refused(size: Word | Fixed, more: object) -> None:
    with pytest.raises(ValueError, match=r"by value|power of two"):
        Param("p", "p", size, **more)  # type: ignore[arg-type]
