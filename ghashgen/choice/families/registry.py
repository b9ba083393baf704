"""Finds the questions of the families: every module of `choice.families` that exports QUESTION."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ghashgen.choice import families as package
from ghashgen.choice.questions import Question
from ghashgen.kernels.families import in_order


@cache
def questions() -> Mapping[str, Question]:
    """Return the question of every family that has one, by family name, the default family
    first.
    """
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    found = {m.QUESTION.family: m.QUESTION for m in modules if hasattr(m, "QUESTION")}
    order = [family.name for family in in_order() if family.name in found]
    return MappingProxyType({name: found[name] for name in order})
