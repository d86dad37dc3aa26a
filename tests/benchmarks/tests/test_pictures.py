"""Test that pictures show the right texts in readable form."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from benchmarks.errors import MissingPlotterError
from benchmarks.pictures import require_pictures, write_pictures
from benchmarks.variants import ABLATIONS
from datahub_hyperjoin.evaluate.labelled_lake import read_labelled_lake
from datahub_hyperjoin.evaluate.run import LakeResult, MethodRuns, ProfiledLake

LAKES = ["semantic (100 tables)", "fk", "natural", "opendata"]
METHODS = [*(variant.name for variant in ABLATIONS), "a rival that has quite a long name"]
MakeResult = Callable[..., LakeResult]


@pytest.fixture
def make_result(labelled_lake: Path, make_runs: Callable[..., MethodRuns]) -> MakeResult:
    whole = read_labelled_lake(labelled_lake)

    def make(lake: str, methods: int, top: float = 0.9) -> LakeResult:
        name, _, part = lake.rstrip(")").partition(" (")
        suite = replace(whole, folder=Path(name), part=part)
        found = [
            make_runs(suite, method, (top, 0.8, 0.7), (0.4, 0.35, 0.3)[: 1 + place % 3])
            for place, method in enumerate(METHODS[:methods])
        ]
        return LakeResult((ProfiledLake(suite, (), 3.0),) * 2, tuple(found))

    return make


def words(file: Path) -> set[str]:
    """Return the texts of a picture.

    matplotlib writes each text as a comment beside its path.
    """
    ET.fromstring(file.read_text("utf-8"))  # noqa: S314 - written a moment ago
    return set(re.findall(r"<!-- (.+?) -->", file.read_text("utf-8")))


def test_pictures_name_lakes_methods_and_errors(make_result: MakeResult, tmp_path: Path) -> None:
    write_pictures(tmp_path, [make_result(lake, 3) for lake in LAKES])
    rankings = words(tmp_path / "rankings.svg")
    assert rankings > {*LAKES, *METHODS[:3], "P@15 (%)", "R@15 (%)", "a perfect ranking"}
    assert METHODS[3] not in rankings
    reliability = words(tmp_path / "reliability.svg")
    assert reliability > {*(f"{lake}, full" for lake in LAKES), "joinability", "candidates (%)"}
    # Of 5.5 answers a seed 1.5 say 0.9 and 0.4 and are wrong, 1.5 say 0.8, one 0.7, and are right.
    error = 100 * (1.5 * 0.9 + 1.5 * 0.4 + 1.5 * 0.2 + 0.3) / 5.5
    assert any(word.startswith(f"ECE {error:.1f} % (") for word in reliability)


def test_the_same_figures_make_the_same_files(make_result: MakeResult, tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        write_pictures(tmp_path, [make_result("fk", 2)])
        found.append([file.read_bytes() for file in sorted(tmp_path.glob("*.svg"))])
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_scores_that_say_nothing_have_no_reliability(
    make_result: MakeResult, tmp_path: Path
) -> None:
    write_pictures(tmp_path, [make_result("fk", 1, top=2.0)])
    assert [file.name for file in tmp_path.glob("*.svg")] == ["rankings.svg"]
    write_pictures(tmp_path, [make_result("fk", 1, top=2.0), make_result("natural", 1)])
    found = words(tmp_path / "reliability.svg")
    assert "natural, full" in found
    assert "fk, full" not in found


def shown(figure: Figure) -> list[Bbox]:
    """Return the boxes of all visible texts.

    Labels outside an axis's range are not drawn, so they do not count.
    """
    beyond = set()
    for axis in (axis for axes in figure.findobj(Axes) for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        ticks = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
        beyond |= {label for tick in ticks for label in (tick.label1, tick.label2)}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    return [text.get_window_extent() for text in texts if text not in beyond]


@pytest.mark.parametrize("lakes", [1, 4])
@pytest.mark.parametrize("methods", [1, 12])
def test_no_two_labels_overlap_and_none_is_cut_off(
    make_result: MakeResult, monkeypatch: pytest.MonkeyPatch, lakes: int, methods: int
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    write_pictures(Path(), [make_result(lake, methods) for lake in LAKES[:lakes]])
    assert len(drawn) == 2
    for figure in drawn:
        figure.draw_without_rendering()
        boxes = shown(figure)
        assert len(boxes) > 6
        assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
        assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)
        assert all(box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    require_pictures()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = (
        "matplotlib, which draws the pictures of --out, is not installed. Run `make setup`, or "
        "omit --out"
    )
    with pytest.raises(MissingPlotterError, match=re.escape(message)):
        require_pictures()
