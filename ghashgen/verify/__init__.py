"""Proofs about the bytes of an assembled kernel, for every key, state and message.

Independent of the emitter: nothing here imports a scheme, an ISA table, a pass or the IR. The
meaning of instructions is written from Intel's manual (`x86_64/rows`). The definition of GHASH
comes from `ghashgen.algebra.field`, and exact polynomials over GF(2) from
`ghashgen.algebra.ops.forms`. From the ground up, each folder importing those before it:

- core: values. term, terms, kinds: hash-consed data with exact forms; variables: which of them are
  in a term; values: lengths with a named unknown, pointers; lengths: claims compared with what was
  shown; refutation, explanation: how a wrong kernel is reported.
- machine: what every target has. target: what differs, as one value; image: an object file as
  sections and references; memory, regions, machine, flags: the state of the executor; convention,
  wipe: the check at the return, secrets left behind.
- x86_64: a target. elf, elf_kinds, elf_notes: reads an object file; decoding, flow: from bytes to
  instructions with one reading, their graph and live registers; operands, rows, conditions: what
  they do; dataflow, abi: constant time, calling conventions; target: all of it as one value.
- engine: drives a proof for any family. family: what a family of kernels provides; entry: buffers
  and arguments; prover: one run; cut: what a loop's head keeps; induction: all other lengths;
  behind: a sample of the induction's lengths, executed; stretches: caches work for that; plans:
  which of these, in which order.
- hash: GHASH and POLYVAL. spec: what a kernel claims; operations, entry: what its functions mean;
  entries: what its table holds; naming: values that get names; absorbing, ahead: what it keeps at a
  cut; power, exponents: all exponents; difference: explains a refutation in reports, and is not
  imported by the prover.
- prove: `prove_object`, the entry point. It knows no family: a statement brings its own.
"""
