"""What the emulator says of accesses, code and budgets that go wrong: planted faults."""

import pytest
from helpers.emulating import Assemble, needs_emulator, one

from ghashgen.run.emulate import Buffer, Call, CallResult, Emulator, Image, raw_image

pytestmark = needs_emulator

# Memory: guard pages, fault suppression, strays.


def read_in(emulator: Emulator, image: Image, buffer: Buffer, argument: str = "in") -> CallResult:
    return emulator.call(image, "f", [argument], buffers=[buffer])


@pytest.mark.parametrize("length", [1, 15, 16, 33, 4096, 4097, 10000])
def test_over_read_is_located(emulator: Emulator, assemble: Assemble, length: int) -> None:
    image = assemble(one("vmovdqu xmm0, [rdi]"))
    inside = read_in(emulator, image, Buffer("in", length), f"in+{max(length - 16, 0)}")
    if length >= 16:
        assert inside.outcome.ok, inside.outcome.text
    result = read_in(emulator, image, Buffer("in", length), f"in+{max(length - 15, 0)}")
    assert result.outcome.kind == "page-fault"
    assert result.outcome.where == f"in+{length}"
    assert result.outcome.text.startswith("read 1 byte past the end of in (vmovdqu xmm0,[rdi] at ")


def test_over_read_distance_under_read_and_offset(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("mov al, [rdi + rsi]"))

    def read(buffer: Buffer, at: int) -> str:
        result = emulator.call(image, "f", ["in", at], buffers=[Buffer("other", 64), buffer])
        return result.outcome.text.partition(" (")[0]

    assert read(Buffer("in", 33), 32) == "returned"
    assert read(Buffer("in", 33), 40) == "read 8 bytes past the end of in"
    assert read(Buffer("in", 33, place="start"), 0) == "returned"
    assert read(Buffer("in", 33, place="start"), -3) == "read 3 bytes before the start of in"
    assert read(Buffer("in", 33, offset=7), 39) == "returned"
    assert read(Buffer("in", 33, offset=7), 40) == "read 8 bytes past the end of in"
    assert read(Buffer("in", 33, place="start", offset=7), -8) == (
        "read 8 bytes before the start of in"
    )
    assert read(Buffer("in", 0), 0) == "read 1 byte past the end of in"


def test_masked_load_suppresses_the_fault(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu8 zmm0{k1}{z}, [rdi]"))
    for length in (0, 1, 5, 16, 63):
        data = bytes(range(1, length + 1))
        for bits, ok in ((length, True), (length + 1, False)):
            result = emulator.call(
                image, "f", ["in"], buffers=[Buffer("in", data)], registers={"k1": 2**bits - 1}
            )
            assert result.outcome.ok is ok, result.outcome.text
            if ok:
                assert result.after.zmm[0] == int.from_bytes(data, "little")
            else:
                assert result.outcome.where == f"in+{length}"


def test_masked_store_suppresses_the_fault(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqu8 [rdi]{k1}, zmm3"))
    out = Buffer("out", 5, writable=True)
    result = emulator.call(image, "f", ["out"], buffers=[out], registers={"k1": 0x1F, "zmm3": 0x77})
    assert result.outcome.ok, result.outcome.text
    assert result.buffers["out"] == b"\x77\0\0\0\0"
    result = emulator.call(image, "f", ["out"], buffers=[out], registers={"k1": 0x3F})
    assert result.outcome.text.startswith("write 1 byte past the end of out")


def test_writes_that_are_not_allowed(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(
        one("mov byte [rdi], 0x5A")
        + "global g\ng:\n not byte [rel c]\n ret\nsection .rodata\nc: dd 0\n"
    )
    read_only = emulator.call(image, "f", ["in+3"], buffers=[Buffer("in", 8)])
    assert read_only.outcome.text.startswith("write of in at offset 3, which is read-only")
    constant = emulator.call(image, "g")
    assert constant.outcome.where == ".rodata+0x0"
    # Within the page but outside the buffer there is no fault, only a changed byte.
    for at, words in ((-2, "2 bytes before the start"), (8, "1 byte past the end")):
        stray = emulator.call(
            image, "f", [f"out+{at}"], buffers=[Buffer("out", 8, writable=True, offset=8)]
        )
        assert stray.outcome.kind == "stray-write"
        assert stray.outcome.text == f"write {words} of out"
        assert not stray.outcome.ok


def test_stack_is_guarded_and_measured(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("push rax\n push rcx\n pop rcx\n pop rax") + "g:\n call g\n")
    result = emulator.call(image, "f", seed=3)
    assert result.outcome.ok
    assert len(result.stack) == 16
    assert int.from_bytes(result.stack[8:], "little") == result.before["rax"]
    assert result.after.rsp == result.before.rsp + 8
    deep = emulator.call(image, "g")
    assert deep.outcome.text.startswith("write 8 bytes below the stack")


def test_misalignment_is_located(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(one("vmovdqa64 zmm0, [rdi + 4*rsi + 16]"))
    aligned = emulator.call(image, "f", ["in", 12], buffers=[Buffer("in", 128)])
    assert aligned.outcome.ok, aligned.outcome.text
    result = emulator.call(image, "f", ["in", 1], buffers=[Buffer("in", 128)])
    assert result.outcome.kind == "general-protection"
    assert result.outcome.where == "in+20"
    assert "in at offset 20 is misaligned" in result.outcome.text


# Control: faults in code, budget, counts.


@pytest.mark.parametrize(
    ("code", "spelled"), [("0f0b", "ud2"), ("0fff00", "ud0 eax,[rax]"), ("9006c3", "(bad)")]
)
def test_invalid_opcode(emulator: Emulator, code: str, spelled: str) -> None:
    result = emulator.call(raw_image(bytes.fromhex("90" + code)), "code", count=True)
    assert result.outcome.kind == "invalid-opcode", result.outcome.text
    assert result.outcome.instruction == spelled
    assert set(result.retired) == {"nop"}


def test_running_off_the_end_of_the_code(emulator: Emulator) -> None:
    for length, kind in ((5000, "invalid-opcode"), (4096, "page-fault")):
        result = emulator.call(raw_image(b"\x90" * length), "code", count=True)
        assert result.outcome.kind == kind
        assert result.outcome.text.startswith("execution ")
        assert result.retired == {"nop": length}


def test_privileged_and_system_instructions_do_not_pass(emulator: Emulator) -> None:
    for code in ("f4", "0f01d1", "cd80", "0f30"):  # hlt, xsetbv, int 80h, wrmsr
        result = emulator.call(raw_image(bytes.fromhex(code + "c3")), "code")
        assert not result.outcome.ok, code


def test_runaway_code_is_stopped(emulator: Emulator) -> None:
    result = emulator.call(raw_image(bytes.fromhex("90ebfd")), "code", budget=1001, count=True)
    assert result.outcome.kind == "budget"
    assert result.outcome.text == "not returned after 1001 instructions"
    assert result.retired == {"jmp": 501, "nop": 501}
    # The worker is as good as new, and execution of data is refused.
    result = emulator.call(
        raw_image(bytes.fromhex("ffe7")), "code", ["in"], buffers=[Buffer("in", b"\xc3" * 16)]
    )
    assert result.outcome.text.startswith("execution of in at offset 0, which is not executable")


def test_loop_counts_and_trace(emulator: Emulator, assemble: Assemble) -> None:
    image = assemble(
        one("xor eax, eax\n.next:\n  add al, [rdi]\n  inc rdi\n  dec rsi\n  jnz .next")
    )
    data = bytes(range(40))
    calls = [
        Call(["in", n], [Buffer("in", data[:n])], count=True, trace=True) for n in range(1, 40)
    ]
    for n, result in enumerate(emulator.call_many(image, "f", calls), start=1):
        assert result.after["rax"] == sum(data[:n]) % 256
        assert result.retired == {"add": n, "dec": n, "inc": n, "jne": n, "ret": 1, "xor": 1}
        assert result.instructions == 4 * n + 2
        assert [a.where for a in result.accesses if a.kind == "read"][:-1] == [
            f"in+{i}" for i in range(n)
        ]
    assert list(result.retired) == sorted(result.retired)


def test_count_of_a_faulted_call_stops_before_the_fault(
    emulator: Emulator, assemble: Assemble
) -> None:
    image = assemble(one(".next:\n  mov al, [rdi]\n  inc rdi\n  jmp .next"))
    result = emulator.call(image, "f", ["in"], buffers=[Buffer("in", 5)], count=True)
    assert result.outcome.where == "in+5"
    assert result.retired == {"inc": 5, "jmp": 5, "mov": 5}
