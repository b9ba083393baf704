"""Where the C harness and the templates lie: beside the package, in a clone of the project."""

from __future__ import annotations

from pathlib import Path

from ghashgen.errors import GhashgenError

_NEEDED = ("harness", "templates")


def project_root() -> Path:
    """The directory that holds ``harness/`` and ``templates/``.

    Raises GhashgenError when the package was installed without them.
    """
    root = Path(__file__).resolve().parent.parent
    missing = [name for name in _NEEDED if not (root / name).is_dir()]
    if missing:
        raise GhashgenError(
            f"no folder {' or '.join(missing)} beside the package ({root})",
            "use ghashgen from a clone of its repository: pip install -e .",
        )
    return root
