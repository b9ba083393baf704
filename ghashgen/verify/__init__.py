"""Proofs about the bytes of an assembled kernel, for every key, state and message.

Independent of the emitter: nothing here imports a scheme, an ISA table, a pass or the IR. What an
instruction does is written from Intel's manual (`x86_64/rows`), what GHASH is comes from
`ghashgen.algebra.field`, and exact polynomials over GF(2) come from `ghashgen.algebra.ops.forms`.
From the ground up, each folder importing those before it:

- core: values. term, terms: hash-consed data with exact forms, and its kinds; variables: which are
  in a term, and the same of others; values: lengths with a named unknown, pointers; lengths: what
  is claimed, compared with what was shown; refutation, explanation: how a wrong kernel is reported.
- x86_64: the machine. elf, elf_kinds, elf_notes: an object file as sections and what refers to
  what; decoding, flow: from bytes to instructions that have one reading, their graph and live
  registers; memory, machine, flags, operands, rows: the executor; dataflow, abi, wipe: constant
  time, calling convention, secrets left behind.
- engine: what drives a proof, whatever the kernels are for. family: what a family of kernels gives;
  entry: buffers and arguments; prover: one run; cut: what a loop's head keeps; induction: all other
  lengths; behind: some of what an induction shows, executed; stretches: the same work done once for
  that; plans: which of these, in which order.
- hash: the family of GHASH and POLYVAL. spec: what a kernel claims to be; operations, entry: what
  its functions mean; entries: what its table holds; naming: values that get names; absorbing,
  ahead: what it keeps at a cut; power, exponents: all exponents; difference: a refutation
  explained, by whoever reports it. The prover does not import that one.
- prove: `prove_object`, the entry point. It knows no family: a statement brings its own.
"""
