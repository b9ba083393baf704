"""python -m ghashgen."""

from ghashgen.cli.entry import main

main()
