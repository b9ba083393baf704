"""The default host: all files in one folder, with objects beside them."""

from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from ghashgen.kernels.target import Target
from ghashgen.output.hosts.core import Host


def _place(file: str) -> str:
    return PurePosixPath(file).name


def assembly_as(name: str) -> Callable[[str], str]:
    """Return a `place` that names assembly so, with its folder for {folder}."""

    def place(file: str) -> str:
        path = PurePosixPath(file)
        return name.format(folder=path.parts[0]) if path.suffix == ".S" else path.name

    return place


def _build(files: Sequence[str], targets: Sequence[Target]) -> tuple[str, ...]:
    lines = []
    for file in files:
        path = PurePosixPath(file)
        if path.suffix == ".asm":
            fmt = path.parts[0] if len(targets) > 1 else targets[0].fmt.name
            lines.append(f"nasm -f {fmt} {file}")
        elif path.suffix == ".S":
            lines.append(f"cc -c {file}")
        elif path.suffix == ".c":
            lines.append(f"cc -std=c11 -O2 -c {file}")
    return tuple(lines)


HOST = Host(
    name="plain",
    title="a folder of files: the kernels that you choose, and files that build them",
    place=_place,
    build=_build,
    needs=("NASM, or with --syntax gas a C compiler", "for a dispatcher GCC or Clang, C11"),
    gets="the functions of your kernels, by ghashgen.h",
)
