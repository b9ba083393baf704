"""Questions about another message: all runs mean the same one."""

from collections.abc import Sequence

import pytest

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.values import Pointer, Value
from ghashgen.verify.meaning.questions import Place, Questions, pointers_to

HERE: set[tuple[Place, int]] = {(4, 0), ("stack-8", 80)}


def test_runs_that_mean_one_message_may_leave_a_question() -> None:
    questions = Questions()
    questions.ask(0x10, True, HERE)
    questions.ask(0x10, False, {(4, 0)})
    questions.ask(0x20, False, set())


@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("about", [{(4, 80)}, {("stack-8", 0)}, set()])
def test_runs_that_may_mean_two_messages_may_not(
    leaves: bool, about: set[tuple[Place, int]]
) -> None:
    questions = Questions()
    questions.ask(0x10, True, HERE)
    with pytest.raises(Refutation, match="no run answers"):
        questions.ask(0x10, leaves, about)


def test_a_record_is_where_a_pointer_into_the_array_says() -> None:
    held: Sequence[Value] = [Pointer("a", 160), 7, Pointer("b", 80), Pointer("a", 80)]
    assert pointers_to("a", enumerate(held), 80) == {(0, 80), (3, 0)}
