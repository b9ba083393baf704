"""Proofs about the bytes of an assembled GHASH kernel, for every key, state and message.

Independent of the emitter: nothing here imports a scheme, an ISA table, a pass or the IR. What an
instruction does is written from Intel's manual (`semantics_*`), what GHASH is comes from
`ghashgen.algebra.field`, and exact polynomials over GF(2) come from `ghashgen.algebra.ops.forms`.

- prove: `prove_object`, the entry point; refutation: how a wrong kernel is reported; difference: a
  refutation explained, by whoever reports it. The prover does not import that one.
- spec: what a kernel claims to be; entries: what its table holds.
- elf, elf_kinds, elf_notes: an object file as sections and what refers to what; what is understood.
- decoding, flow: from bytes to instructions that have one reading, their graph and live registers.
- terms: data values as hash-consed terms with exact forms; values: lengths, pointers, flags.
- memory, machine, semantics_*: the executor.
- theorem: function, memory and control for each length; induction: all the other lengths; lengths:
  what is claimed, compared with what was shown; cut, ahead: what a loop's head keeps.
- power: all exponents; behind: some of what the inductions show, executed; stretches: the same work
  done once for it.
- dataflow, abi, wipe: constant time, calling convention, secrets left behind.
"""
