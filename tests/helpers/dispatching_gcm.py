"""The driver of AES-GCM's dispatcher, linked with kernels or with stubs of them."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ghashgen.choice.families.gcm import QUESTION
from ghashgen.support import programs
from ghashgen.support.toolchain import find_cc, link
from helpers.dispatching import FLAGS, SSE

DRIVER = Path(__file__).with_name("dispatch_gcm_driver.c")
USES = QUESTION.dispatched
KEYS = (128, 192, 256)
SSE4 = (*SSE, "sse4_1")


@dataclass(frozen=True)
class Program:
    """The driver linked with the dispatcher."""

    path: Path
    wine: str = ""

    def run(
        self, *question: object, data: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        kept = {name: value for name, value in os.environ.items() if "GHASHGEN_" not in name}
        return subprocess.run(
            [*([self.wine] if self.wine else []), self.path, *map(str, question)],
            input=data,
            env={**kept, **variables},
            capture_output=True,
            check=False,
            timeout=300,
        )

    def ask(self, *question: object, data: bytes = b"", **variables: str) -> list[str]:
        answer = self.run(*question, data=data, **variables)
        assert answer.returncode == 0, (question, answer)
        return answer.stdout.decode().splitlines()

    def bits(self) -> dict[str, int]:
        return {name: int(bit, 16) for name, bit in (line.split() for line in self.ask("bits"))}

    def found(self, cpus: Sequence[tuple[int, frozenset[str]]]) -> list[dict[tuple[int, str], str]]:
        """The kernel of each CPU by size of key and use, "" for none."""
        bits = self.bits()
        lines = [f"{host:x} {sum(bits[f] for f in have):x}" for host, have in cpus]
        keys = [(key, use.name) for key in KEYS for use in USES]
        return [
            dict(zip(keys, (n.strip("-") for n in line.split()), strict=True))
            for line in self.ask("found", data="\n".join(lines).encode())
        ]


def build(
    files: Mapping[str, str],
    folder: Path,
    objects: Sequence[Path] = (),
    stubs: Iterable[str] = (),
    flags: Sequence[str] = (),
) -> Program:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    lines = [f"void {symbol}(void);\nvoid {symbol}(void) {{}}\n" for symbol in stubs]
    (folder / "stubs.c").write_text("".join(lines) or "typedef int nothing;\n")
    cc = find_cc()
    programs.compile_c(
        cc, folder / "ghashgen_gcm_dispatch.c", folder / "alone.o", flags=[*FLAGS, *flags]
    )
    programs.compile_c(cc, DRIVER, folder / "driver.o", flags=[*FLAGS, *flags], include=(folder,))
    programs.compile_c(cc, folder / "stubs.c", folder / "stubs.o", flags=FLAGS)
    link(cc, [folder / "driver.o", folder / "stubs.o", *objects], folder / "driver")
    return Program(folder / "driver")
