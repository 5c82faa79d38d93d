"""Prints the lowest versions that pyproject.toml allows, extras included, as constraints for pip."""

import re
import tomllib
from itertools import chain
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
BOUND = re.compile(r"([\w.-]+)(?:\[\w+\])?>=([\d.]+)")


def lowest() -> dict[str, str]:
    """The version of each requirement that has a lower bound, by name."""
    stated = chain(PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    return dict(found.groups() for each in stated if (found := BOUND.fullmatch(each)))


if __name__ == "__main__":
    for name, version in lowest().items():
        print(f"{name}=={version}")
