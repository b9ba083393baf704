"""Where the program begins. It imports little before an interrupt is one line."""

import os
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit; see `ghashgen.cli.main` for the status."""
    try:
        # click and the rest take a tenth of a second.
        from ghashgen.cli.main import main as run

        run()
    except KeyboardInterrupt:
        os.write(2, b"ghashgen: interrupted\n")
        sys.exit(INTERRUPTED)
