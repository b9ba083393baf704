"""python -m ghashgen."""

from ghashgen.cli.main import main

main()
