"""python -m ghashgen."""

from ghashgen.cli import main

main()
