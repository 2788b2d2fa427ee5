"""The built wheel, installed as a user has it: not editable, from another folder, read-only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def run(*command: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NUMBA"))}
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**kept, **environment},
        check=False,
    )


@pytest.fixture(name="installed", scope="module")
def _installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, and with the dependencies of this one behind it."""
    folder = tmp_path_factory.mktemp("install")
    source = folder / "source"
    shutil.copytree(
        ROOT,
        source,
        ignore=shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "*.nbi", "*.nbc", "docs"),
    )
    wheel = ("-m", "pip", "wheel", "--no-deps", "-q", "-w", folder / "wheels")
    built = run(sys.executable, *wheel, "--no-build-isolation", source, folder=folder)
    if built.returncode != 0:  # the build backend is not installed here: pip fetches it
        built = run(sys.executable, *wheel, source, folder=folder)
    assert built.returncode == 0, built.stderr
    (built_wheel,) = (folder / "wheels").glob("kvbounds-*.whl")
    shutil.rmtree(source)
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    done = run(
        *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, built_wheel),
        folder=folder,
    )
    assert done.returncode == 0, done.stderr
    here = [path for path in sys.path if path.endswith("site-packages")]
    assert here
    # The wheel comes first; the .pth file of an editable install lies in a folder that is only
    # named here, and is not read.
    (site / "dependencies.pth").write_text("\n".join(here) + "\n")
    return folder / "venv" / "bin" / "python"


def test_validate_from_another_folder(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed, "-c", "import theory, mip, kvbounds; print(theory.__file__)", folder=tmp_path
    )
    assert where.returncode == 0, where.stderr
    assert where.stdout.startswith(str(installed.parents[1]))
    done = run(
        installed, "-m", "kvbounds", "validate", "--quick", "--format", "json", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True
    assert (tmp_path / "kvbounds-out" / "ratio_vs_capacity.png").exists()


def test_the_wheel_holds_no_tests(installed: Path) -> None:
    (site,) = (installed.parents[1] / "lib").glob("python*/site-packages")
    names = {path.name for path in site.iterdir()}
    assert {"kvbounds", "theory", "mip", "adversary", "empirical"} <= names
    assert "tests" not in names
    assert not list((site / "theory").glob("test_*.py"))
    for room in ("kvbounds", "theory", "mip", "adversary", "empirical"):
        assert (site / room / "py.typed").exists()


def test_a_read_only_install(installed: Path, tmp_path: Path) -> None:
    """The compiled kernels go to the user's cache folder."""
    (site,) = (installed.parents[1] / "lib").glob("python*/site-packages")
    for folder in (site / "theory", *[p for p in (site / "theory").rglob("*") if p.is_dir()]):
        if folder.name != "__pycache__":
            # A plain file in the place of the cache stops the superuser too.
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            (folder / "__pycache__").write_text("")
            folder.chmod(0o555)
    done = run(
        *(installed, "-m", "kvbounds", "validate", "--quick", "--quiet"),
        folder=tmp_path,
        HOME=str(tmp_path / "home"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    kernels = {path.name.partition(".")[0] for path in tmp_path.rglob("*.nbi")}
    assert kernels, "no kernel was kept"
    assert not list(site.rglob("theory/**/*.nbi"))
