"""The questions of the families that bring them: values QUESTION."""

from collections.abc import Mapping

from ghashgen.choice.questions import Question
from ghashgen.kernels.families import brought


def questions() -> Mapping[str, Question]:
    """Return the question of every family that has one, by family name, the default family
    first.
    """
    return brought("question")
