"""The specifications: GF(2)[x], GF(2^128), GHASH, GCM, AES and POLYVAL, slow and easy to read.

Everything that the package emits, proves or validates is compared with these modules. They follow
SP 800-38D, RFC 8452 and FIPS 197 step by step and share no formula with the kernels. They are
neither fast nor constant-time: never give them real secrets.

- gf2: polynomials over GF(2) as ints.
- gf128: the field GF(2^128) of GCM.
- bitorder: blocks, field elements and 128-bit registers, in both bit orders.
- ghash: SP 800-38D, sections 6.3 and 6.4.
- aes: FIPS 197, the forward cipher, sections 4.2, 5.1 and 5.2.
- gcm: SP 800-38D, sections 6.2, 6.5, 7.1 and 7.2.
- polyval: RFC 8452, section 3 and appendix A.

Nothing is re-exported: `ghashgen.algebra.field.ghash` is the module; its function has the same
name.
"""
