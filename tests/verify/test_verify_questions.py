"""Questions about another message: who may leave them, and to whom."""

import pytest

from ghashgen.verify.core.refutation import Refutation
from ghashgen.verify.core.values import Pointer
from ghashgen.verify.meaning.questions import Questions, pointers_to

HERE = {(4, 0)}


def test_a_question_is_left_to_the_run_of_its_message() -> None:
    questions = Questions()
    questions.ask(0x10, {1}, {0}, HERE)
    questions.ask(0x10, {1}, {2, 3}, HERE)
    questions.ask(0x10, set(), {1}, HERE)
    questions.ask(0x20, {0}, {1}, {(5, 80)})


def test_a_run_to_which_a_question_is_left_may_not_leave_it() -> None:
    questions = Questions()
    questions.ask(0x10, {1}, {0}, HERE)
    with pytest.raises(Refutation, match="no run answers"):
        questions.ask(0x10, {2}, {1}, HERE)


def test_a_run_that_may_follow_that_message_may_not_leave_it() -> None:
    with pytest.raises(Refutation, match="no run answers"):
        Questions().ask(0x10, {1}, {0, 1}, HERE)


@pytest.mark.parametrize("to", [{1}, set()])
@pytest.mark.parametrize("begins", [{(4, 80)}, {(5, 0)}, set()])
def test_all_runs_that_ask_stand_at_one_window(to: set[int], begins: set[tuple[int, int]]) -> None:
    questions = Questions()
    questions.ask(0x10, {1}, {0}, HERE)
    with pytest.raises(Refutation, match="no run answers"):
        questions.ask(0x10, to, {2}, begins)


def test_a_window_begins_where_a_pointer_into_the_array_says() -> None:
    registers = [Pointer("a", 160), 7, Pointer("b", 80), Pointer("a", 80)]
    assert pointers_to("a", registers, 80) == {(0, 80), (3, 0)}
