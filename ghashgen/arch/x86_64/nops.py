"""NOPs by length."""

NOPS = {
    1: "90",
    2: "66 90",
    3: "0f 1f 00",
    4: "0f 1f 40 00",
    5: "0f 1f 44 00 00",
    6: "66 0f 1f 44 00 00",
    7: "0f 1f 80 00 00 00 00",
    8: "0f 1f 84 00 00 00 00 00",
    9: "66 0f 1f 84 00 00 00 00 00",
}
"""The multi-byte NOP of each length (Intel SDM vol. 2, NOP, Table 4-12). These are bytes because
the assembler chooses the encoding, and so the length, of a mnemonic.
"""
