"""docs/toy-kernel.md from top to bottom, in a copy of the project."""

from pathlib import Path

import pytest
from helpers.cpus import AS_FOUND
from helpers.following import FENCE, Follower, shows

from ghashgen.support.paths import project_root
from ghashgen.support.toolchain import Tool, find_cc

PAGE = (project_root() / "docs" / "toy-kernel.md").read_text(encoding="utf-8")


def test_what_is_not_shown_is_noticed() -> None:
    output = "one\t1\t0.3\tyes\ntwo  2\n"
    assert shows(output, "one 1 … yes\ntwo\n")
    assert not shows(output, "two\none\n")
    assert not shows(output, "one 1 … no\n")
    assert not shows(output, "three\n")


@pytest.mark.cpu(AS_FOUND)
def test_the_page_is_true_from_top_to_bottom(tmp_path: Path, nasm: Tool) -> None:
    tools = {"nasm": " ".join(nasm.command), "cc": " ".join(find_cc().command)}
    follower = Follower(tmp_path, tools)
    before = follower.files()
    follower.follow(PAGE)
    assert {"python", "sh", "text", "nasm", "c", "diff"} == {
        kind for kind, _ in FENCE.findall(PAGE)
    }
    # It cleans up behind itself.
    assert follower.files() == before
