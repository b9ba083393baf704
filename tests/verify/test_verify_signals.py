"""Objects that are wrong where a signal arrives: its handler writes below what the stack protects.

The second page of the message cannot be read at first, so that a signal arrives in the loop, at one
place. Its handler fills a frame of 64 KiB, makes the page readable and returns.
"""

import subprocess
from pathlib import Path

import pytest
from helpers.attacking import library, proof, source
from helpers.verify_objects import assembled

from ghashgen.support.toolchain import find_cc
from ghashgen.verify.core.refutation import Category

ATTACKS = {
    "stack_above": (Category.ABI, "leaves a return address to signal handlers"),
    "stack_deep": (Category.MEMORY, "leaves the available stack"),
    "stack_unwritten": (Category.FUNCTION, "what was below the stack pointer"),
}

DRIVER = """
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
void foreign_init(uint8_t table[64], const uint8_t h[16]);
void foreign_ghash(uint8_t x[16], const uint8_t table[64], const uint8_t *in, size_t len);
enum { FRAME = 65536 };
static uint8_t *data;
static size_t page;
static void handler(int number)
{
    volatile uint8_t frame[FRAME];
    signal(number, SIG_DFL);
    for (size_t k = 0; k < sizeof frame; k++)
        frame[k] = (uint8_t)(k + 1);
    mprotect(data + page, page, PROT_READ);
}
int main(void)
{
    static _Alignas(16) uint8_t table[64];
    volatile uint8_t above[FRAME];
    const struct rlimit none = {0, 0};
    const uint8_t h[16] = {1, 2, 3};
    uint8_t quiet[16] = {7}, disturbed[16] = {7};
    above[0] = 0;
    setrlimit(RLIMIT_CORE, &none);
    page = (size_t)sysconf(_SC_PAGESIZE);
    data = mmap(0, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    foreign_init(table, h);
    foreign_ghash(quiet, table, data, 2 * page + 5);
    signal(SIGSEGV, handler);
    mprotect(data + page, page, PROT_NONE);
    foreign_ghash(disturbed, table, data, 2 * page + 5);
    return memcmp(quiet, disturbed, 16) != 0;
}
"""


def disturbed(folder: Path, name: str, wrong: bool) -> bool:
    """Return whether the result is the same where a signal arrives in the loop."""
    text = source(name, wrong)
    library(text)
    main, obj, program = folder / "main.c", folder / "attack.o", folder / "program"
    main.write_text(DRIVER)
    obj.write_bytes(assembled(text))
    command = [*find_cc().command, "-O1", str(main), str(obj), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    return subprocess.run([str(program)], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_wrong_where_a_signal_arrives(name: str, tmp_path: Path) -> None:
    assert disturbed(tmp_path, name, False)
    assert not disturbed(tmp_path, name, True)


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_refused_and_its_twin_is_proved(name: str) -> None:
    category, words = ATTACKS[name]
    assert proof(name, False, "update", length_multiple=1).refutation is None
    refutation = proof(name, True, "update", length_multiple=1).refutation
    assert refutation is not None
    assert refutation.category is category, str(refutation)
    assert words in str(refutation)
