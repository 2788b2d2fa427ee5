"""The package `kvbounds`: its public names, and what it costs to import it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kvbounds


def test_every_public_name_loads() -> None:
    for name in kvbounds.__all__:
        assert getattr(kvbounds, name) is not None
    assert set(dir(kvbounds)) == set(kvbounds.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kvbounds.nothing


@pytest.mark.parametrize(
    "code", ["import kvbounds", "import kvbounds.cli; kvbounds.cli.build_app()"]
)
def test_importing_loads_no_heavy_library(code: str) -> None:
    heavy = [
        "numpy",
        "numba",
        "scipy",
        "sympy",
        "networkx",
        "pulp",
        "matplotlib",
        "pandas",
        "torch",
    ]
    show = f"{code}; import sys; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
