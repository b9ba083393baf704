"""A branch on the key is refused, whatever a certificate says of constants.

The run that follows a message may call a constant the value of another message, and the run of that
one, of a third. Then no run would check a branch on the constant + H.
"""

from dataclasses import replace

import pytest
from helpers.proving_groups import found, source, stated
from helpers.verify_objects import assembled

from ghashgen.kernels.gcm.kernel import GcmKernel
from ghashgen.verify.core.linear import Case
from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.rules.check import Checker
from ghashgen.verify.x86_64.elf import load_image

KERNEL = GcmKernel(128, "avx512", "k", "clmul1", 8, many="alike")

OLD = """
.mixed_look_3:
    mov         rax, [rsi + 248]                    ; AAD: aad
"""
NEW = """
.mixed_look_3:
    jmp near .branch
    db 0x66, 0x90
.back:
"""
BEHIND = """
.branch:
    vextracti64x2 xmm29, zmm1, 1
    vpxorq xmm29, xmm29, [rdi + 176]
    vmovq rax, xmm29
    and rax, 1
    jz .odd
    nop
.odd:
    mov rax, [rsi + 248]
    jmp .back
"""
"""The lane is 0 behind a block of AAD, so the branch is on a bit of H."""


@pytest.mark.parametrize(
    ("of", "why"), [("other", "no run answers"), ("perhaps", "depends on a secret")]
)
def test_a_key_is_not_hidden_behind_a_constant_of_another_message(of: str, why: str) -> None:
    spec, function = stated(KERNEL, "seal_many")
    known, changed = found(KERNEL, "seal_many"), {}
    read = [name for name in known if name.startswith("lookd")]
    for name in read:
        place = known[name].unknowns["place"][0]
        assert known[name].registers["v1.1"] == ["c", "0x0"]
        other = {**known[name].registers, "v1.1": ["t", of, 1 if place == 0 else 0]}
        changed[name] = replace(known[name], registers=other)
    before, label, own = source(KERNEL).partition(f"\n{function.symbol}:\n")
    own, end, after = own.partition("\n.end:")
    assert OLD in own
    text = "".join((before, label, own.replace(OLD, NEW), BEHIND, end, after))
    checker = Checker(load_image(assembled(text)), spec.meaning(function), {**known, **changed})
    checker.begin()
    with pytest.raises(Refutation, match=why):  # noqa: PT012
        for name, one in sorted(checker.assertions.items(), reverse=True):
            if name.startswith(("lookc", "lookd")):
                for state in checker.state(one).each((Case(),)):
                    checker.run(state, checker.entry + one.at, one)
