"""The gallery page shows every shader, and the code on docs/how-to/graphics.md that needs a device runs on one."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from gallery_shaders import BRANCHLESS, SHADERS
from pyflat import graphics
from pyflat.backend import flatten_function

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs" / "how-to"


def test_every_shader_has_a_picture_on_the_page() -> None:
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[(\w+)\]\(gallery/(\w+)\.png\)", page)
    assert shown == [(shader.__name__, shader.__name__) for shader in SHADERS]
    assert sorted(file.stem for file in (DOCS / "gallery").iterdir()) == sorted(s.__name__ for s in SHADERS)
    assert all(file.stat().st_size < 60_000 for file in (DOCS / "gallery").iterdir())


@pytest.mark.parametrize("shader", SHADERS, ids=lambda fn: fn.__name__)
def test_the_pictures_are_current(shader) -> None:
    """A few pixels may be another driver's; most of the picture is what the function gives today."""
    image = pytest.importorskip("PIL.Image")
    shown = np.asarray(image.open(DOCS / "gallery" / f"{shader.__name__}.png").convert("RGB")).astype(int)
    painted = graphics.to_bytes(graphics.paint(shader, shown.shape[1], shown.shape[0])[..., :3]).astype(int)
    assert (np.abs(shown - painted).max(axis=-1) > 12).mean() < 0.01


def test_the_gallery_writes_a_page(tmp_path, monkeypatch) -> None:
    pytest.importorskip("PIL")
    import gallery

    monkeypatch.setattr(gallery, "SHADERS", SHADERS[:3])
    monkeypatch.setattr(gallery, "device", lambda: None)
    monkeypatch.setattr(gallery, "SIDE", 24)
    gallery.main(tmp_path)
    assert sorted(file.name for file in (tmp_path / "gallery").iterdir()) == ["checker.png", "plasma.png", "vignette.png"]
    assert "| 3 shaders |" in (tmp_path / "gallery.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("shader", BRANCHLESS, ids=lambda fn: fn.__name__)
def test_branchless_shaders_have_no_selects(shader) -> None:
    assert "select" not in flatten_function(shader).counts()


@pytest.mark.usefixtures("device")
def test_the_code_for_a_device(tmp_path, monkeypatch) -> None:
    page = (DOCS / "graphics.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|py)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in blocks].count("py") == 1
    (tmp_path / "graphics_page.py").write_text("".join(text for _, text in blocks), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    page_module = importlib.import_module("graphics_page")
    found = page_module.gpu(page_module.uv, 0.3)
    assert np.allclose(found.x, [1.0, 0.8], atol=1e-6) and found.x.dtype == np.float32
