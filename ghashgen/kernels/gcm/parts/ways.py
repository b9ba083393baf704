"""The ways into the one code of a compact kernel: by which function it was entered."""

from dataclasses import dataclass

from ghashgen.ir.builder import Builder
from ghashgen.ir.program import VReg

OPEN, DECRYPT, ENCRYPT, SEAL = range(4)
"""The functions. Numbers from ENCRYPT on encrypt; the outer ones take whole messages."""


@dataclass(frozen=True)
class Way:
    """The number with which it was entered."""

    b: Builder
    number: VReg

    @classmethod
    def here(cls, b: Builder) -> "Way":
        """Begin the code: it is that of `open`, and others enter here."""
        return cls(b, b.way(OPEN))

    def decrypts(self, name: str) -> None:
        """Go to `name` if the text is decrypted."""
        self.b.branch("below", self.number, ENCRYPT, name)

    def seals(self, name: str) -> None:
        """Go to `name` if a message is encrypted."""
        self.b.branch("equal", self.number, SEAL, name)

    def texts(self, name: str) -> None:
        """Go to `name` if there is no message around the text."""
        self.b.branch("equal", self.number, DECRYPT, name)
        self.b.branch("equal", self.number, ENCRYPT, name)

    def messages(self, name: str) -> None:
        """Go to `name` if the text is that of a message."""
        self.b.branch("equal", self.number, OPEN, name)
        self.seals(name)
