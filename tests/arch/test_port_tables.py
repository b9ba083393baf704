"""Tables of microarchitectures: what is read, and what is refused by name."""

import pytest

from ghashgen.arch.registry import uarch
from ghashgen.arch.x86_64.uarch.table import parse as parse_table
from ghashgen.support.errors import GhashgenError

HEAD = """
name = "toy"
title = "Toy"
aliases = []
suffix = "toy"
llvm = "toy"
llvm_resources = "Toy"
ports = ["p0", "p5"]
issue = 4
issue_source = ["book"]
window = 100
window_source = ["book"]
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
        (
            HEAD + "[[fusion]]\nfirst = ['cmpp']\nsecond = ['jb']\nfused = 1\nsource = ['book']\n",
            "'cmpp'",
        ),
        ("name =", "is no table of a core: "),
    ],
)
def test_a_bad_table_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(GhashgenError, match=named) as refusal:
        parse_table(text, "toy.toml")
    assert refusal.value.cause.startswith("toy.toml is no table of a core: ")


def test_unknown_microarchitecture_is_refused() -> None:
    with pytest.raises(GhashgenError, match="'core2'"):
        uarch("core2")
