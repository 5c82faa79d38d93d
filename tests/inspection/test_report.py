"""`twin.report()`: lines of the source, what became of them, and the page."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import pyflat
from docs.support_cases import CASES
from pyflat.cli.main import commands
from pyflat.functions.vmath import exact
from pyflat.inspection.report import ReportLine, ReportPart, _elsewhere

RATE = 0.19


def share(x: float, low: float) -> float:
    if x < low:
        return 0.0
    return math.log(x / low)


def price(amount: float, weight: float, express: bool = False) -> float:
    """What a parcel costs."""
    base = 4.0  # always
    if amount <= 0:
        raise ValueError("amount <must> be positive")
    cost = base + 0.5 * weight**1.5 if weight > 30.0 else base
    for _ in range(3):
        if cost > 100.0:
            break
        cost = cost * 1.1
    if express:
        cost += share(amount, 10.0)
    tag = "<script>alert(1)</script>"
    return cost * (1 + RATE) if tag else 0.0


def newton(x: float) -> float:
    y = x
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def arrangements(x: float) -> float:
    return math.gamma(x + 1.0)


def limited_power(x: float, y: float) -> float:
    if math.tanh(x) > 0.5:
        raise ValueError("too steep")
    return x**y


def reads(x: float) -> float:
    return asks(x) * 2


def asks(x: float) -> float:
    return x + float(input("<b>"))


def smooth(a, out, n):
    for i in range(1, n - 1):
        out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0


def blur(a, out):
    """Two passes over a buffer of its own."""
    h, w = a.shape
    rows = np.empty((h, w))
    for y in range(h):
        for x in range(1, w - 1):  # across
            rows[y, x] = (a[y, x - 1] + a[y, x] + a[y, x + 1]) / 3.0
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            out[y, x] = limited(rows[y - 1, x] + rows[y + 1, x])


def limited(v):
    if v > 2.0:
        return 2.0 - share(v, 2.0)
    return v * 0.5


def of_lines(report):
    """Line of source -> the lines of the text that are linked with it."""
    return {line.text.strip(): [report.text[k].strip() for k in line.linked]
            for part in report.parts for line in part.lines}


def remarks(report, text):
    """Of the line that starts so."""
    (found,) = (line for part in report.parts for line in part.lines if line.text.strip().startswith(text))
    return {(remark.sort, remark.text) for remark in found.remarks}


def test_lines_say_what_became_of_them():
    found = pyflat.twin(price).report()
    assert [part.name for part in found.parts] == ["price", "share"]
    assert remarks(found, "base = 4.0")  == {("gone", "no code: a name only, known while flattening, or unused")}
    assert ("fault", "raises ValueError where amount <= 0") in remarks(found, "raise ValueError")
    assert ("loop", "unrolled: straight-line code") in remarks(found, "for _ in")
    assert ("select", "3 selects by this condition") in remarks(found, "if cost > 100.0")
    assert {"call", "fault"} <= {sort for sort, _ in remarks(found, "cost = base +")}
    assert ("call", "log: the C library's") in remarks(found, "return math.log")
    assert _elsewhere(found.parts) == ()
    assert remarks(found, "if x < low") == {("select", "1 select by this condition")}  # its arms cost nothing


def test_a_cost_that_no_line_has_is_said():
    parts = (ReportPart("f", "f.py", (ReportLine(1, "def f(x):"), ReportLine(2, "    return x", 0.8))),)
    assert _elsewhere(parts) == ("20% of the cost is outside the lines shown",)


@pytest.mark.parametrize(("target", "math", "how"), [
    ("numba", "exact", "in registers, the same bits"),
    ("numba", "fast", "in registers"),
    ("numpy", "exact", "in registers for long arrays, with the same bits"),
])
def test_gamma_says_how_it_is_computed(target, math, how):
    if not exact.is_verified("gamma"):
        pytest.skip("gamma is called where the C library is not known")
    twin = pyflat.twin(arrangements, target=target, math=math)
    found = remarks(twin.report(), "return math.gamma")
    assert f"gamma: {how}" in {text for sort, text in found if sort == "call"}
    assert not any("one element at a time" in line for line in twin.explain().slower)
    twin(np.arange(1.0, 9.0))
    if math == "exact":  # fast twins have digits of their own
        assert twin.stats.functions["gamma"] == "verified"


def test_faults_that_fast_functions_decide_have_reports():
    found = pyflat.twin(limited_power, target="numba", math="fast").report()
    assert ("fault", "raises ValueError where math.tanh(x) > 0.5") in remarks(found, "raise ValueError")
    assert "fault" in {sort for sort, _ in remarks(found, "return x**y")}


def test_linked_lines_of_the_twin_have_the_line_s_operations():
    found = pyflat.twin(price).report()
    linked = {line.text.strip(): [found.text[k] for k in line.linked] for part in found.parts for line in part.lines}
    assert any("weight**1.5" in text for text in linked["cost = base + 0.5 * weight**1.5 if weight > 30.0 else base"])
    assert all("math.log" in text for text in linked["return math.log(x / low)"])
    assert linked["return cost * (1 + RATE) if tag else 0.0"] == ["    return cost * 1.19"]
    assert not linked["base = 4.0  # always"]


def test_a_profile_says_how_many_lanes_take_an_arm():
    twin = pyflat.twin(price)
    found = twin.report(profile=twin.profile(np.arange(1.0, 101.0), 40.0))
    assert any("100% of 100 elements take it; else is never taken" in text for _, text in remarks(found, "cost = base +"))


def test_loops_kernels_and_refusals_have_reports():
    found = pyflat.twin(newton).report()
    assert ("loop", "stays a loop that runs until every element has finished") in remarks(found, "while ")
    kernel = pyflat.twin(smooth).report("f8[:],f8[:],i8")
    shares = {line.text.strip(): line.share for line in kernel.parts[0].lines}
    assert shares["out[i] = (a[i - 1] + a[i] + a[i + 1]) / 3.0"] > 0.8 and shares["def smooth(a, out, n):"] == 0.0
    assert any(sort == "loop" for sort, _ in remarks(kernel, "for i in")) and kernel.facts[0].startswith("a: argument")
    refused = pyflat.twin(reads).report()
    assert refused.refused and "[flatten/unknown-call]" in refused.facts[0]
    assert [part.name for part in refused.parts] == ["reads", "asks"]
    assert ("refused", "the call of builtins.input cannot be flattened") in remarks(refused, "return x + float(input")


def test_lines_of_a_kernel_are_linked_with_numpy_s_slices():
    twin = pyflat.twin(blur)
    found = twin.report("f8[:,:],f8[:,:]")
    assert "\n".join(found.text) == str(twin.show(kinds="f8[:,:],f8[:,:]")).rstrip("\n")
    assert {part.name for part in found.parts} == {"blur", "limited", "share"}
    linked = of_lines(found)
    assert linked["rows = np.empty((h, w))"] == ["rows = np.empty((h, w))"]
    (row,) = linked["rows[y, x] = (a[y, x - 1] + a[y, x] + a[y, x + 1]) / 3.0"]
    assert row.startswith("rows[start:stop, 1:w - 1] = s.divide(a[start:stop, :w - 2]")
    assert linked["for y in range(h):"] == [
        "if 0 < h and 1 < w - 1:", "for start, stop in s.blocks(0, h, w - 2):"]
    assert linked["if v > 2.0:"] == ["t1 = t > 2.0"]
    assert any("lanes.log(" in line for line in linked["return math.log(x / low)"])
    assert ["* 0.5" in line for line in linked["return v * 0.5"]] == [True]


def test_a_choice_in_a_kernel_is_linked_with_numpy_s_where():
    def halves(a, out):
        for i in range(len(a)):
            v = a[i]
            if v > 1.0:
                v = v * 0.5
            out[i] = v

    linked = of_lines(pyflat.twin(halves).report("f8[:],f8[:]"))
    assert any("np.where(" in line for line in linked["if v > 1.0:"])


def test_lines_of_a_kernel_are_linked_with_its_loops_in_python_and_say_what_becomes_of_arrays():
    twin = pyflat.twin(blur, target="numba", inline_complex_computations=False)
    found = twin.report("f8[:,:],f8[:,:]")
    linked = of_lines(found)
    assert [line.split()[0] for line in linked["for y in range(h):"]] == ["for"]
    assert ["* 0.5" in line for line in linked["return v * 0.5"]] == [True]
    kept = {text for sort, text in remarks(found, "rows = np.empty") if sort == "array"}
    assert any(text.startswith("buffer of 3 rows; 209 complex: ") for text in kept)
    assert any("row by row" in text for _, text in remarks(found, "for y in range(h)"))
    assert not any("tested" in text for _, text in remarks(found, "for x in range(1, w - 1):  # across"))

    def joined(a, b, out):
        for i in range(len(a)):
            out[i] = a[i] + b[i]

    found = pyflat.twin(joined, target="numba").report("f8[:],f8[:],f8[:]")
    assert ("loop", "2 indices tested for all iterations at once") in remarks(found, "for i in range(len(a)):")


class Page(HTMLParser):
    """The rows, names and links of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.rows: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names += [given["id"]] if "id" in given else []
        href = given.get("href", "")
        (self.links if href.startswith("#") else self.outside).extend([href] if href else [])
        self.outside += [given["src"]] if "src" in given else []
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if "row" in given.get("class", "").split():
            self.rows.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.rows and "span" in self.open:
            self.rows[-1] += data


@pytest.mark.filterwarnings("ignore::pyflat.LaneWarning")
@pytest.mark.parametrize("case", CASES[::12], ids=lambda case: case.function.__name__)
def test_every_page_has_each_line_once_and_links_that_lead_somewhere(case):
    try:
        found = pyflat.twin(case.function, **case.options).report()
    except (TypeError, ValueError):  # static arguments that have no value
        return
    page = Page(found.html())
    assert len(page.names) == len(set(page.names)) and not page.outside
    assert {link.removeprefix("#") for link in page.links} <= set(page.names)
    lines = [line.text for part in found.parts for line in part.lines] + list(found.text)
    assert len(page.rows) == len(lines)
    for row, text in zip(page.rows, lines, strict=True):
        assert row.strip().endswith(text.strip())


def test_text_of_the_source_is_no_markup():
    text = pyflat.twin(price).report().html()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text and "&lt;must&gt;" in text


def test_a_notebook_shows_the_report():
    text = pyflat.twin(price)._repr_html_()
    assert text.startswith("<div") and "<html" not in text and "Generated twin" in text
    assert pyflat.twin(price).report()._repr_html_() != text  # names of their own
    assert pyflat.twin(smooth)._repr_html_() is None  # of which kinds its arrays are is not known yet


def test_the_command_writes_a_page(tmp_path, monkeypatch):
    file = Path(__file__)
    done = CliRunner().invoke(commands, ["report", f"{file}:price", "-o", str(tmp_path / "p.html"), "5.0", "40.0"])
    assert done.exit_code == 0 and "price_flat" in done.output
    assert "of 1 elements take it" in (tmp_path / "p.html").read_text()
    done = CliRunner().invoke(commands, ["report", f"{file}:reads", "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 1 and "refused" in (tmp_path / "r.html").read_text()
    done = CliRunner().invoke(commands, ["report", f"{file}:price", "-o", str(tmp_path / "missing" / "r.html")])
    assert done.exit_code == 2 and "missing" in done.output
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(commands, ["report", f"{file}:price"])
    assert done.output.startswith("price-report.html: ") and (tmp_path / "price-report.html").exists()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs a browser")
def test_pointing_at_a_line_marks_what_belongs_to_it(tmp_path):
    pointed = ("<script>const row = [...document.querySelectorAll('.row')].find(r => r.textContent.includes('math.log(x'));"
               "row.dispatchEvent(new Event('mouseenter'));"
               "document.title = [...document.querySelectorAll('.on')].map(r => r.textContent).join('|');</script></body>")
    page = tmp_path / "page.html"
    page.write_text(pyflat.twin(price).report().html().replace("</body>", pointed))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom",
               page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    title = re.search("<title>(.*?)</title>", done.stdout)[1]
    assert title.count("|") == 1 and "return math.log(x / low)" in title and "math.log(amount / 10.0)" in title
