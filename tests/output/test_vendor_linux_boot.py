"""boot.py of the trial of `linux`, with a recorded console in place of a machine that boots."""

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ghashgen.output.hosts.linux import TRIAL
from ghashgen.support.templates import environment

DRIVERS = [f"{mode}-gcm-vaes-avx10_{n}" for mode in ("generic", "rfc4106") for n in (256, 512)]
EXTRA = "alg: extra crypto tests enabled.  This is intended for developer use only.\n"
ALARM = (
    "alg: aead: generic-gcm-vaes-avx10_512 encryption test failed (wrong result) on test vector 0, "
    'cfg="in-place (one sglist)"'
)
SKIPPED = "alg: aead: skipping comparison tests for generic-gcm-vaes-avx10_512 because …\n"
CODE = "arch/x86/crypto/aes-gcm-avx10-x86_64.S"
RIGHT, WRONG = (f"    vpclmulqdq  {n}, %xmm0, %xmm0, %xmm2\n" for n in ("$0x00", "$0x01"))
NOT_FOUND = "qemu-system-x86_64 not found (apt-get install qemu-system-x86)"
NO_AVX512 = "KVM ran no kernel with AVX-512 to its end"
NO_BOCHS = "bochs not found (apt-get install bochs bochs-term genisoimage isolinux)"


def console(state: str = "passed", before: str = EXTRA, after: str = "") -> str:
    """Return what a kernel says, as Linux 6.12.100 said it in Bochs; shortened."""
    told = (
        f"name         : gcm(aes)\ndriver       : {driver}\nmodule       : kernel\n"
        f"priority     : 1\nrefcnt       : 1\nselftest     : {state}\ninternal     : no\n\n"
        for driver in ("cryptd(__generic-gcm-vaes-avx10_512)", *DRIVERS)
    )
    return f"{before}{''.join(told)}reboot: Restarting system\n{after}".replace("\n", "\r\n")


def run(
    folder: Path, said: str | None, *words: str, machine: str = "bochs"
) -> subprocess.CompletedProcess[str]:
    """Run boot.py where the programs that it starts do nothing, and the machine says this."""
    (folder / CODE).parent.mkdir(parents=True)
    (folder / CODE).write_text(RIGHT + RIGHT)
    if said is not None:
        (folder / "said").write_text(said, newline="")
    (folder / "boot.py").write_text(
        environment().get_template(TRIAL.files["boot.py"]).render(), encoding="utf-8"
    )
    scripts = {
        **dict.fromkeys(("make", "gcc", "genisoimage", "nproc"), ""),
        "timeout": 'shift && "$@"',
        machine: f"/bin/cp {CODE} booted.S; /bin/cp said console.txt; exit 1",
        "../measure": "echo 13 vectors",
    }
    (folder / "bin").mkdir()
    for name, text in scripts.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    return subprocess.run(
        [sys.executable, "boot.py", *words],
        cwd=folder,
        env={**os.environ, "PATH": str(folder / "bin")},
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.mark.parametrize(("machine", "name"), [("bochs", "Bochs"), ("qemu-system-x86_64", "KVM")])
def test_what_the_kernel_said_is_told_and_its_counts_are_kept(
    tmp_path: Path, machine: str, name: str
) -> None:
    counts = tmp_path / "counts"
    said = console(after=f"ghashgen_counts {counts} 7 0 123456789012\n")
    found = run(tmp_path, said, machine=machine)
    assert found.returncode == 0, found.stderr
    told = found.stdout.splitlines()
    assert told == [f"booted by {name}: {driver}: selftest passed" for driver in DRIVERS]
    assert all(re.fullmatch(TRIAL.passed, line) for line in told)
    assert struct.unpack("<3Q", counts.read_bytes()) == (7, 0, 123456789012)
    assert (tmp_path / "booted.S").read_text() == RIGHT + RIGHT


def test_a_planted_fault_is_booted_found_and_taken_back(tmp_path: Path) -> None:
    found = run(tmp_path, console("unknown", EXTRA + ALARM + "\n"), "wrong")
    assert found.returncode == 0, found.stderr
    assert found.stdout == f"booted by Bochs, with a planted fault: {ALARM}\n"
    assert re.fullmatch(TRIAL.passed, found.stdout.strip())
    assert (tmp_path / "booted.S").read_text() == WRONG + RIGHT
    assert (tmp_path / CODE).read_text() == RIGHT + RIGHT


@pytest.mark.parametrize(
    ("said", "words", "error"),
    [
        (console("unknown", EXTRA + ALARM + "\n"), (), "the self-tests found {"),
        (console("unknown"), (), "'generic-gcm-vaes-avx10_512': 'unknown'"),
        (console(before=EXTRA + ALARM + "\n"), (), ALARM),
        (console().replace("passed", "unknown", 3), (), "'generic-gcm-vaes-avx10_512': 'unknown'"),
        (console(before=""), (), "nothing was compared with the generic code"),
        (console(before=EXTRA + SKIPPED), (), "nothing was compared with the generic code"),
        (console(), ("wrong",), "'generic-gcm-vaes-avx10_512': 'passed'"),
        (console("unknown"), ("wrong",), "the self-tests found {"),
        (EXTRA, (), "Bochs ran no kernel with AVX-512 to its end; see console.txt and boot.log"),
    ],
)
def test_other_findings_fail(tmp_path: Path, said: str, words: tuple[str, ...], error: str) -> None:
    found = run(tmp_path, said, *words)
    assert (found.returncode, found.stdout) == (1, "")
    assert error in found.stderr
    assert (tmp_path / CODE).read_text() == RIGHT + RIGHT


@pytest.mark.parametrize(("words", "more"), [((), "13 vectors\n"), (("wrong",), "")])
@pytest.mark.parametrize(
    ("machine", "why"), [("none", NOT_FOUND), ("qemu-system-x86_64", NO_AVX512)]
)
def test_without_a_machine_the_trial_says_so(
    tmp_path: Path, words: tuple[str, ...], more: str, machine: str, why: str
) -> None:
    found = run(tmp_path, EXTRA, *words, machine=machine)
    line = f"no kernel was booted: {why}; {NO_BOCHS}"
    assert (found.returncode, found.stdout) == (0, f"{line}\n{more}")
    assert re.fullmatch(TRIAL.passed, line)
    assert (tmp_path / CODE).read_text() == RIGHT + RIGHT


def test_a_bochs_that_does_not_start_is_no_kernel_booted(tmp_path: Path) -> None:
    """As without its package bochs-term."""
    found = run(tmp_path, None)
    line = f"no kernel was booted: {NOT_FOUND}; Bochs did not start"
    assert (found.returncode, found.stdout) == (0, f"{line}\n13 vectors\n")


def test_the_kernel_is_configured_to_test_itself() -> None:
    lines = environment().get_template(TRIAL.files["trial.config"]).render().splitlines()
    assert {
        *("CONFIG_CRYPTO_MANAGER=y", "# CONFIG_CRYPTO_MANAGER_DISABLE_TESTS is not set"),
        # What they are compared with.
        *("CONFIG_CRYPTO_MANAGER_EXTRA_TESTS=y", "CONFIG_CRYPTO_AES=y", "CONFIG_CRYPTO_GCM=y"),
        *("CONFIG_CRYPTO_AES_NI_INTEL=y", 'CONFIG_INITRAMFS_SOURCE="trial.initramfs"'),
    } <= {*lines}
