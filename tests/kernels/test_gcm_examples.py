"""The examples of harness/examples are built as docs/gcm.md says, without a complaint, and run."""

import subprocess
from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND, lacking, need_x86
from helpers.examples import EXAMPLES, NEEDS, ROOT, WARNINGS, commands, need_the_cpu, run
from helpers.installed import need_programs
from helpers.records import CASES, PUBLISHED_RECORD, tls12, tls13

here = pytest.mark.cpu(AS_FOUND)

need_x86(whole_module=True)


@here
def test_the_commands_of_the_page_build_and_run_them(example_folder: Path) -> None:
    printed = {}
    for line in commands()[1:]:
        build, start = line.split(" && ")
        done = run(build, example_folder, WARNINGS)
        assert done.returncode == 0, done.stderr
        if not lacking(NEEDS):
            done = run(start, example_folder, [])
            assert (done.returncode, done.stderr) == (0, "")
            printed[start] = bytes.fromhex(done.stdout)
    need_the_cpu()
    request = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"
    first = tls12(bytes(range(16)), bytes(range(0xA0, 0xA4)), 0, bytes(8), 23, request)
    assert printed == {
        "./tls12_record": first,
        "./tls13_record": PUBLISHED_RECORD,
        "./esp_packet": CASES[0].packet,
    }


def test_published_records_are_as_another_library_has_them() -> None:
    key = bytes.fromhex("17422dda596ed5d9acd890e3c63f5051")
    iv = bytes.fromhex("5b78923dee08579033e523d9")
    assert tls13(key, iv, 0, bytes(range(50)) + b"\x17") == PUBLISHED_RECORD
    for case in CASES:
        assert case.association.packet(case.sequence, case.iv, case.text) == case.packet


@pytest.mark.parametrize("example", EXAMPLES)
def test_clang_has_no_complaint(example: str, example_folder: Path) -> None:
    need_programs("clang")
    source = ROOT / "harness" / "examples" / f"{example}.c"
    options = ["-std=c11", *WARNINGS, "-fsyntax-only", f"-I{ROOT / 'generated'}", str(source)]
    done = subprocess.run(["clang", *options], cwd=example_folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
