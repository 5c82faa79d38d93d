"""`python -m pyflat` and the `pyflat` command: what runs where the libraries of the command line are there."""

import sys

from pyflat.targets.target import MissingLibraryError, require


def main() -> None:
    """The entry point of the `pyflat` command; ends the process, with one sentence and status 1 without a library."""
    try:
        for library in ("click", "rich"):
            require(library, "the command line of pyflat")
    except MissingLibraryError as missing:
        sys.exit(str(missing))
    from pyflat.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
