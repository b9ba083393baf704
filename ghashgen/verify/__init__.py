"""Proofs about the bytes of an assembled kernel, for every key, state and message.

Independent of the emitter: nothing here imports a scheme, an ISA table, a pass or the IR. The
meaning of instructions is written from Intel's manual (`x86_64/rows`). The definition of GHASH
comes from `ghashgen.algebra.field`, and exact polynomials over GF(2) from
`ghashgen.algebra.ops.forms`. From the ground up, each folder importing those before it:

- core: values. term, terms, kinds: hash-consed data with exact forms; variables: which of them are
  in a term; values, numbers, linear: numbers with unknowns, addresses, and what is known of the
  unknowns; refutation, explanation: how a wrong kernel is reported.
- x86_64: the machine. elf, elf_kinds, elf_notes: an object file as sections and references;
  decoding, uses: from bytes to instructions with one reading, and the registers that they use;
  memory, machine, flags, operands, rows: the executor; dataflow, abi, wipe: constant time, calling
  convention, secrets left behind.
- rules: states, assertions and the rules by which a certificate is checked.
- meaning: what each function means, put together of parts.
- search: proposes certificates. Nothing rests on it.
- checking, certified: check a function by given certificates, or by ones that are searched; chosen:
  runs at chosen lengths; theorems: what is proved, in words.
- statements: what a kernel claims, one file for each family.
- difference: explains a refutation in reports, and is not imported by what decides.
- prove: `prove_object`, the entry point. It knows no family: a statement brings its own.
"""
