"""Proofs about the bytes of an assembled kernel, for every key, state and message.

Independent of the emitter: nothing here imports a scheme, an ISA table, a pass or the IR. The
meaning of instructions is written from Intel's manual (`x86_64/rows`). The definition of GHASH
comes from `ghashgen.algebra.field`, and exact polynomials over GF(2) from
`ghashgen.algebra.ops.forms`. From the ground up, each folder importing those before it:

- core: values. term, terms, kinds: hash-consed data with exact forms; renumbering: the same with
  other numbers; numbers, linear: numbers with unknowns, what is known of these; values: pointers;
  words, opaque: sums modulo 2^32 and the S-box; limits: which lengths there are; refutation,
  explanation: how a wrong kernel is reported.
- machine: what every target has. target: what differs, as one value; image: an object file as
  sections and references; memory, regions, machine, flags: the state of the executor; convention,
  wipe: the check at the return, secrets left behind.
- x86_64: a target. elf, elf_file, elf_kinds, elf_notes: read an object file; decoding: from bytes
  to instructions with one reading; operands, rows, conditions: what they do; dataflow: constant
  time; abi: calling conventions; target: all of it as one value.
- rules: states, assertions and the rules by which a certificate is checked.
- meaning: what each function means, put together of parts.
- statements: what an object claims, for each family of kernels.
- checking: checks a function by a certificate; theorems: what is proved.
- search: proposes certificates, and runs functions at chosen lengths. Nothing rests on it.
- report: a proof in words and as data; difference: explains a refutation; advice: what to do about
  an object that is not read. The prover imports none of them.
- prove: `prove_object`, the entry point. It knows no family: a statement brings its own.
"""
