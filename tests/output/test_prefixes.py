"""Two libraries with different prefixes are parts of one program."""

from pathlib import Path

from ghashgen.arch.x86_64.assemblers import find_nasm
from ghashgen.kernels import manifest
from ghashgen.kernels.hash.kernel import Kernel
from ghashgen.kernels.target import target
from ghashgen.output.generate import generate
from ghashgen.support.toolchain import assemble, compile_c, find_cc, link

FIRST = Kernel("avx", "k", "clmul1", 1)


USES = """
#include "{prefix}ghashgen.h"
#include "{prefix}ghashgen_dispatch.h"
#define TABLE_BYTES {macro}GHASH_AVX_K_CLMUL1_X1_TABLE_BYTES
size_t {prefix}use(void);
size_t {prefix}use(void)
{{
    return TABLE_BYTES + {macro}GHASHGEN_MAX_TABLE_BYTES +
           ({prefix}ghashgen_best({macro}GHASHGEN_GHASH, 64) != NULL) +
           ({prefix}ghash_avx_k_clmul1_x1_init != NULL);
}}
#undef TABLE_BYTES
"""


def test_two_libraries_with_prefixes_are_one_program(tmp_path: Path) -> None:
    """One translation unit includes both headers; all objects link."""
    cc, nasm = find_cc(), find_nasm()
    objects, folders, text = [], [], ""
    for prefix in ("", "my_"):
        folder = tmp_path / f"lib{prefix}"
        generate([FIRST], target(prefix=prefix), folder)
        names = {path.name for path in folder.rglob("*") if path.is_file()}
        assert all(name.startswith(prefix) for name in names - {manifest.NAME})
        kernel = folder / f"avx/{prefix}{FIRST.name}.asm"
        objects += [kernel.with_suffix(".o"), folder / "dispatch.o"]
        assemble(nasm, kernel, objects[-2])
        source = folder / f"{prefix}ghashgen_dispatch.c"
        compile_c(cc, source, objects[-1], flags=("-Werror", "-Wall", "-fPIE"))
        folders.append(folder)
        text += USES.format(prefix=prefix, macro=prefix.upper())
    main = tmp_path / "main.c"
    main.write_text(text + "int main(void) { return use() + my_use() == 0; }\n", encoding="utf-8")
    compile_c(cc, main, tmp_path / "main.o", flags=("-Werror", "-fPIE"), include=folders)
    program = tmp_path / "program"
    link(cc, [tmp_path / "main.o", *objects], program, flags=("-pie", "-Wl,-z,noexecstack"))
    assert program.exists()
