"""How a run goes on in several cases: by a question about numbers, or by an answer given away."""

from ghashgen.verify.core.linear import Fork
from ghashgen.verify.rules.state import State


class Answered(Exception):  # noqa: N818 - how a run goes on
    """A run goes on in two cases of an answer."""

    def __init__(self, cases: list[State], at: int) -> None:
        super().__init__()
        self.cases, self.at = cases, at


class Divided(Exception):  # noqa: N818 - how a run goes on
    """A run goes on by cases, at an address, having begun there or not."""

    def __init__(self, question: Fork, at: int, begun: bool) -> None:
        super().__init__(str(question))
        self.question, self.at, self.begun = question, at, begun
