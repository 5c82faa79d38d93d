"""`python -m pyflat`: the same as the `pyflat` command."""

from pyflat.cli import main

if __name__ == "__main__":
    main()
