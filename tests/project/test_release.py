"""What a release is made from: the tag, the lowest versions and the conda recipe say the same as pyproject.toml."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent


def version_of(folder):
    done = subprocess.run([sys.executable, "-m", "hatchling", "version"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def sources(tmp_path):
    pytest.importorskip("hatch_vcs")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def git(folder, *arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments], cwd=folder, check=True,
                   capture_output=True)


def test_the_tag_is_the_version(sources):
    git(sources, "init")
    git(sources, "add", ".")
    git(sources, "commit", "-m", "first")
    git(sources, "tag", "v4.5.6")
    assert version_of(sources) == "4.5.6"
    git(sources, "commit", "--allow-empty", "-m", "second")
    assert version_of(sources) == "4.5.7.dev1"


def test_sources_without_git_have_a_version(sources):
    assert version_of(sources) == "0.1.0.dev0"


def test_the_conda_recipe_asks_for_what_the_wheel_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())
    run = [each.replace(" ", "") for each in recipe["requirements"]["run"]]
    assert run == [f"python{project['project']['requires-python']}", *project["project"]["dependencies"]]
    host = [each.replace(" ", "") for each in recipe["requirements"]["host"]]
    assert host[2:] == project["build-system"]["requires"]
    points = recipe["build"]["python"]["entry_points"]
    assert points == [f"{name} = {place}" for name, place in project["project"]["scripts"].items()]
    assert recipe["about"]["summary"] == project["project"]["description"]
