"""Session fixtures: tools, the assembled catalogue, and one harness with every kernel under test.

Under pytest-xdist the expensive ones are made by the first worker and read by the others.
"""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.browsing import launched
from helpers.compiling import BUFFERED, FRAMED, ISAS, SPILLED, Assembled, Job, assembled
from helpers.cpus import CPUS, UNMARKED, mask, need_x86
from helpers.emulating import Assemble, pooled
from helpers.examples import Load, commands, loaded, need_the_cpu, run
from helpers.sharing import FOLDER, compiled_once, shared
from helpers.syntaxes import found
from helpers.tiers import is_quick, left_out, quick, quick_files, stale, stale_quick, thorough

from ghashgen.arch.features import FEATURES_OFF
from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.check.validation.runners import Emulated
from ghashgen.kernels.hash.catalogue import catalogue
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.run.emulate import Emulator
from ghashgen.run.harness import Harness, build
from ghashgen.support import parallel
from ghashgen.support.errors import GhashgenError
from ghashgen.support.toolchain import Tool

FEATURES_OFF_BEFORE = pytest.StashKey[str]()
"""What the environment takes away from every CPU that the tests are run as."""


def pytest_configure(config: pytest.Config) -> None:
    """Mask the CPU, in the process that runs tests (xdist's controller starts those with its own
    environment and runs none); take interrupts; and collect no garbage before tests run, since
    what is imported stays."""
    gc.disable()
    # A shell starts what runs in its background with interrupts ignored, and children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.stash[FEATURES_OFF_BEFORE] = os.environ.get(FEATURES_OFF, "")
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", default=None):
        os.environ[FEATURES_OFF] = UNMARKED


def pytest_unconfigure(config: pytest.Config) -> None:
    os.environ[FEATURES_OFF] = config.stash[FEATURES_OFF_BEFORE]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that looks at the CPU as each of CPUS, or as those that its marker names."""
    if marker := metafunc.definition.get_closest_marker("cpu"):
        metafunc.parametrize("as_cpu", marker.args or CPUS, indirect=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="run what thorough.toml leaves out too"
    )
    parser.addoption("--quick", action="store_true", help="run only what quick.toml names")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import files without a quick test, if those alone are asked for."""
    if not config.getoption("quick") or collection_path.suffix != ".py":
        return None
    return collection_path.name not in quick_files(quick()) or None


def _any_cpu(item: pytest.Item) -> str | None:
    """The CPU of CPUS that an item runs as, if its marker names none."""
    marker, call = item.get_closest_marker("cpu"), getattr(item, "callspec", None)
    return call.params["as_cpu"] if call and marker and not marker.args else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only longer runs have, unless tests are named."""
    if any("::" in argument for argument in config.args):
        return
    names = [
        (item.path.name, getattr(item, "originalname", item.name), item.name) for item in items
    ]
    if wrong := stale(names, thorough()):
        raise pytest.UsageError(f"tests/thorough.toml: {'; '.join(wrong)}")
    if wrong := stale_quick(names, quick()):
        raise pytest.UsageError(f"tests/quick.toml: {'; '.join(wrong)}")
    if config.getoption("quick"):
        begins = quick()
        out = [not is_quick(file, case, begins) for file, _, case in names]
    elif config.getoption("thorough"):
        return
    else:
        table = thorough()
        out = [
            without or not table.runs_as(item.path.name, _any_cpu(item))
            for item, without in zip(items, left_out(names, table), strict=True)
        ]
    config.hook.pytest_deselected(
        items=[item for item, without in zip(items, out, strict=True) if without]
    )
    items[:] = [item for item, without in zip(items, out, strict=True) if not without]


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over what is there to stay, and look seldom: proofs make
    millions of small values that need none, and it took a tenth of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


@pytest.fixture(autouse=True)
def as_cpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The CPU of CPUS that a test is run as; None, with the CPU masked, without the marker."""
    cpu: str | None = getattr(request, "param", None)
    if cpu is not None:
        monkeypatch.setenv(FEATURES_OFF, mask(cpu, request.config.stash[FEATURES_OFF_BEFORE]))
    return cpu


@pytest.fixture(params=["as", "clang"])
def assembler(request: pytest.FixtureRequest) -> Tool:
    return found(request.param)


def sample(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return one kernel of each combination of axes, with another size each time."""
    families: dict[tuple[object, ...], list[Kernel]] = {}
    for kernel in kernels:
        axes = {key: value for key, value in asdict(kernel).items() if key != "blocks"}
        families.setdefault(tuple(axes.values()), []).append(kernel)
    sizes = enumerate(families.values())
    return [family[index % len(family)] for index, family in sizes]


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session", autouse=True)
def key_folder(shared_folder: Path) -> Iterator[None]:
    """Keep the key that seals what tests make apart from the user's, which may not be writable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, os.fspath(shared_folder))
        patch.setenv("XDG_STATE_HOME", os.fspath(shared_folder / "state"))
        yield


@pytest.fixture(scope="session", autouse=True)
def bytecode_folder(shared_folder: Path) -> Iterator[None]:
    """Where Python is told to write no bytecode beside its sources, have the programs that tests
    start keep it here: else each of them compiles the package anew."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.dont_write_bytecode:
            patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
            patch.setenv("PYTHONPYCACHEPREFIX", os.fspath(shared_folder / "bytecode"))
        yield


@pytest.fixture(scope="session", autouse=True)
def wine_folder(shared_folder: Path) -> Iterator[None]:
    """Have Wine set up its folder once for all programs that tests run by it, say nothing, and
    start no services or desktop: a run then takes a sixth of the time."""
    unused = ("explorer.exe", "mscoree", "mshtml", "services.exe", "winemenubuilder.exe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WINEPREFIX", os.fspath(shared_folder / "wine"))
        patch.setenv("WINEDEBUG", "-all")
        patch.setenv("WINEDLLOVERRIDES", f"{','.join(unused)}=")
        yield


@pytest.fixture(scope="session", autouse=True)
def c_objects(shared_folder: Path) -> Iterator[None]:
    """Compile each C source of the harness and the benchmark once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ghashgen.support.programs.compile_c", compiled_once(shared_folder / "c"))
        yield


@pytest.fixture(scope="session")
def nasm() -> Tool:
    return find_nasm()


@pytest.fixture(scope="session")
def shipped(nasm: Tool, shared_folder: Path) -> Mapping[str, Assembled]:
    """One size of every family of the catalogue for System V, by name; sizes take turns."""
    jobs = [Job(kernel) for kernel in sample(catalogue())]
    made = shared(shared_folder, "shipped", lambda: parallel.run(partial(assembled, nasm), jobs))
    return {item.kernel.name: item for item in made}


@pytest.fixture(scope="session")
def variants(nasm: Tool, shared_folder: Path) -> Mapping[Job, Assembled]:
    """The kernels of SPILLED, BUFFERED and FRAMED, by job."""
    jobs = [*SPILLED, *BUFFERED, *FRAMED]
    made = shared(shared_folder, "variants", lambda: parallel.run(partial(assembled, nasm), jobs))
    return {item.job: item for item in made}


@pytest.fixture(scope="session")
def harness_folder(shared_folder: Path) -> Path:
    folder = shared_folder / "harness"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def harness(
    shipped: Mapping[str, Assembled], variants: Mapping[Job, Assembled], harness_folder: Path
) -> Harness:
    """The harness with the variants and with what is shipped of the narrow instruction sets."""
    need_x86()
    chosen = [item for item in shipped.values() if item.kernel.isa in ISAS]
    chosen += variants.values()

    def make() -> Harness:
        return build([item.harness_kernel(harness_folder) for item in chosen], harness_folder)

    return shared(harness_folder, "harness", make)


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernel that the examples of harness/examples take, assembled."""
    folder = tmp_path_factory.mktemp("examples")
    done = run(commands()[0], folder, [])
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def library(example_folder: Path) -> Load:
    """Loads an example; skips where the CPU has not what the kernel needs."""
    need_the_cpu()
    return lambda example: loaded(example, example_folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the module's own."""
    return tmp_path_factory.mktemp("folder")


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what `vendor` proves apart from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GHASHGEN_CACHE", os.fspath(tmp_path_factory.getbasetemp() / "vendor-cache"))
        yield


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """An emulator; skips where there is none."""
    with Emulator() as running:
        try:
            running.features()
        except GhashgenError as absent:
            pytest.skip(str(absent))
        yield running


@pytest.fixture
def kept_emulator(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the trials of an attack share an emulator: its start takes longer than most of them."""
    monkeypatch.setattr("ghashgen.check.attack.trial.Emulator", lambda: nullcontext(emulator))


@pytest.fixture(scope="module")
def emulated(emulator: Emulator) -> Emulated:
    """What runs kernels in the emulator."""
    return pooled(emulator)


@pytest.fixture(scope="module")
def object_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    folder = tmp_path_factory.mktemp("asm")

    def run(text: str) -> bytes:
        source, target = folder / "t.asm", folder / "t.o"
        source.write_text(text)
        subprocess.run(["nasm", "-f", "elf64", "-o", target, source], check=True)
        return target.read_bytes()

    return run


@pytest.fixture(scope="module")
def assemble(emulator: Emulator, object_of: Callable[[str], bytes]) -> Assemble:
    return lambda text: emulator.load(object_of(text))
