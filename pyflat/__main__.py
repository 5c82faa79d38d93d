"""`python -m pyflat`: the same as the `pyflat` command."""

from pyflat.cli.main import main

if __name__ == "__main__":
    main()
