"""Figures are drawn without a display, hold the data, and are the same every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from empirical import plots
from empirical.plots import COLOURS, figure, ratio_vs_capacity, save
from empirical.validate import ValidationRow, cases


@pytest.fixture(name="rows", scope="module")
def _rows() -> list[ValidationRow]:
    return [row for case in cases(quick=True) for row in case.rows()]


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))


def test_equal_rows_give_equal_bytes(rows: list[ValidationRow], tmp_path: Path) -> None:
    one, two = tmp_path / "one.png", tmp_path / "two.png"
    ratio_vs_capacity(rows, one)
    ratio_vs_capacity(rows[::-1], two)
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes().startswith(b"\x89PNG")
    image = pixels(one)
    assert image.shape[1] > 2000
    for colour in COLOURS[:3]:
        rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        assert (np.abs(image[..., :3] - rgb).max(axis=-1) < 0.02).sum() > 100, colour


def test_points_and_bounds_are_drawn_at_their_values(
    rows: list[ValidationRow], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn = []
    monkeypatch.setattr(plots, "save", lambda found, path: drawn.append(found))
    ratio_vs_capacity(rows, tmp_path / "x.png")
    left, middle, right = drawn[0].axes
    points = {
        (int(x), float(y))
        for line in left.get_lines()
        if line.get_linestyle() == "None"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    assert points == {(r.B, float(r.lower or 0)) for r in rows if r.case == "cyclic"}
    bounds = {
        (int(x), float(y))
        for line in left.get_lines()
        if line.get_linestyle() == "-"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    assert bounds == points  # the worst case lies on its bound
    labels = middle.get_legend_handles_labels()[1]
    assert sum("proven" in label for label in labels) == 3
    assert right.get_title(loc="left") == "(c) Trace: synthetic"


def test_without_a_case_the_rest_is_drawn(rows: list[ValidationRow], tmp_path: Path) -> None:
    path = tmp_path / "part.png"
    ratio_vs_capacity([row for row in rows if row.case == "cyclic"], path)
    assert path.stat().st_size > 10_000


def test_figures_need_no_display(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MPLBACKEND", "TkAgg")
    monkeypatch.delenv("DISPLAY", raising=False)
    with figure(columns=2) as (drawn, axes):
        axes[0].plot([1, 2], [3, 4])
        save(drawn, tmp_path / "f.png")
    assert len(axes) == 2
    assert (tmp_path / "f.png").exists()
