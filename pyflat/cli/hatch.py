"""The build hook for hatchling: a wheel gets the extension that [tool.pyflat] describes.

    [build-system]
    requires = ["hatchling", "pyflat", "numpy>=2"]            # and what the library imports
    build-backend = "hatchling.build"

    [tool.hatch.build.targets.wheel.hooks.pyflat]
"""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from pyflat.cli.publish import functions_of
from pyflat.inspection.publishing.project import ProjectError, extension_path, package_root, project_at


class BuildHook(BuildHookInterface):  # type: ignore[misc]
    """Builds the extension beside the library's sources, from where the wheel takes it."""

    PLUGIN_NAME = "pyflat"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """`version` is "standard" or "editable". Raises ProjectError where a function cannot be built."""
        from pyflat.inspection.publishing.build import build_file

        project = project_at(Path(self.root))
        if project.build is None:
            raise ProjectError('[tool.pyflat] names no file: build = "mylib/_fast"')
        sys.path.insert(0, str(package_root(project.build)))
        path = extension_path(project.build)
        found = [each for one in project.functions for each in functions_of(one)]
        reasons, _ = build_file(found, project.build, path, project.licence)
        if reasons:
            raise ProjectError("\n".join(f"not built: {reason}" for reason in reasons))
        build_data["artifacts"].append(f"/{path.relative_to(Path(self.root).resolve()).as_posix()}")
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag(path)


@hookimpl  # type: ignore[untyped-decorator]
def hatch_register_build_hook() -> type[BuildHook]:
    """For hatchling's plugins."""
    return BuildHook


def wheel_tag(extension: Path) -> str:
    """The tag of a wheel with this extension: this version of Python, whose rules its functions follow, and the lowest
    GNU C library that has what the linker has bound."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    versions = re.findall(rb"(?<=\0)GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", extension.read_bytes())
    machine = platform.machine()
    system = f"manylinux_2_{max(5, *map(int, versions))}_{machine}" if versions else \
        re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"{python}-{python}{getattr(sys, 'abiflags', '')}-{system}"
