"""Where files lie: in a clone beside the package, installed where the user is."""

import os
from pathlib import Path

import pytest

from ghashgen.support import paths
from ghashgen.support.errors import GhashgenError
from ghashgen.support.files import make_folder


def test_a_clone_keeps_kernels_and_cache_beside_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(paths.CACHE, raising=False)
    root = Path(__file__).parents[2]
    assert paths.in_clone()
    assert paths.project_root() == root
    assert paths.kernels_folder() == root / "generated"
    assert paths.cache_folder() == root / "build"
    assert paths.report_folder() == root / "build" / "report"
    monkeypatch.setenv(paths.CACHE, "elsewhere")
    monkeypatch.chdir(tmp_path)
    assert paths.cache_folder() == tmp_path / "elsewhere"
    paths.require_clone("README.md")


def test_an_installed_package_keeps_them_where_the_user_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    carried = tmp_path / "site" / "ghashgen" / "carried"
    for name in ("harness", "templates"):
        make_folder(carried / name)
    monkeypatch.setattr(paths, "CARRIED", carried)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(paths.CACHE, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", os.fspath(tmp_path / "home"))
    assert paths.project_root() == carried
    assert paths.kernels_folder() == tmp_path / "generated"
    assert paths.report_folder() == tmp_path / "report"
    assert paths.cache_folder() == tmp_path / "home" / ".cache" / "ghashgen"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert paths.cache_folder() == tmp_path / "home" / ".cache" / "ghashgen"
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "xdg"))
    assert paths.cache_folder() == tmp_path / "xdg" / "ghashgen"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert paths.state_folder() == tmp_path / "home" / ".local" / "state" / "ghashgen"
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path / "state"))
    assert paths.state_folder() == tmp_path / "state" / "ghashgen"
    with pytest.raises(GhashgenError, match=r"README\.md belongs to the repository"):
        paths.require_clone("README.md")
