"""Finds the hosts: every module of `output.hosts`, besides the types and this one, exports HOST."""

from collections.abc import Mapping

from ghashgen.output import hosts as package
from ghashgen.output.hosts.core import Host
from ghashgen.support.registry import found

DEFAULT = "plain"


def hosts() -> Mapping[str, Host]:
    """Return every host by name, sorted."""
    return found(package, "HOST", besides=("core", "registry", "trial"))
