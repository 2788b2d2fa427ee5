"""Policies by name: the built-in ones, their parameters, and a user's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from theory.cache import run
from theory.errors import PolicyError
from theory.eviction import POLICIES, make_policy, policy_class
from theory.model import Instance
from theory.trie import TokenTrie

OWN = '''
from theory.eviction import EvictionPolicy, Step


class Highest(EvictionPolicy):
    """Evict the highest leaf, or the lowest."""

    def __init__(self, sign=1):
        self.sign = sign

    def on_step(self, step: Step) -> None:
        pass

    def choose(self, leaves):
        return max(leaves, key=lambda leaf: self.sign * leaf)


class Abstract(EvictionPolicy):
    pass


class NoPolicy:
    pass


value = 3
'''
STAR = Instance(TokenTrie.from_parents([-1] * 3), 2, [[0], [1], [2], [0]])


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's module, as the current one."""
    (tmp_path / "my_policy_module.py").write_text(OWN)
    (tmp_path / "my_broken_module.py").write_text("raise KeyError('x')\n")
    (tmp_path / "my_syntax_error.py").write_text("def f(:\n")
    (tmp_path / "my_needy_module.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


@pytest.mark.parametrize("name", POLICIES)
def test_every_name_builds_a_policy_with_a_docstring(name: str) -> None:
    policy = make_policy(name)
    assert type(policy) is policy_class(name)
    assert type(policy).__doc__
    assert run(STAR, name).misses >= 3


def test_the_promised_names_are_there() -> None:
    assert set(POLICIES) >= {
        *("leaf-lru", "rlt", "rlt-step", "rlt-node", "rlt-token", "node-lru", "sglang-lru"),
        *("vllm-lru", "fifo", "lfu", "hits-per-token", "mru", "filo", "slru", "clock"),
        "clock-clear",
    }


def test_a_user_names_their_own_class_in_the_current_folder(own: Path) -> None:
    assert run(STAR, "my_policy_module:Highest").misses == 3
    assert run(STAR, "my_policy_module:Highest:sign=-1").misses == 4


def test_a_fresh_interpreter_finds_it_too(own: Path) -> None:
    program = (
        "from theory.eviction import make_policy\n"
        "print(type(make_policy('my_policy_module:Highest:sign=-1')).__name__)\n"
    )
    # -P keeps the folder off the path, as an installed command has it.
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=own, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Highest\n"


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("lru", "unknown eviction policy 'lru'"),
        ("", "unknown eviction policy ''"),
        (":", "unknown eviction policy ':'"),
        (":Highest", "unknown eviction policy ':Highest'"),
        ("leaf-lru:depth=3", "depth"),
        ("lfu:granularity=block", "granularity can be 'token' or 'node', not 'block'"),
        ("slru:threshold=0", "threshold 0 is not a positive integer"),
        ("slru:threshold=1.5", "threshold 1.5 is not a positive integer"),
        ("slru:threshold=", "threshold '' is not a positive integer"),
        ("my_absent_module:Highest", "cannot import 'my_absent_module'"),
        ("my_policy_module:Lowest", "module 'my_policy_module' has no 'Lowest'"),
        ("my_policy_module:NoPolicy", "is not a subclass of theory.eviction.EvictionPolicy"),
        ("my_policy_module:value", "is not a subclass of theory.eviction.EvictionPolicy"),
        ("my_policy_module:Abstract", "cannot be built"),
        ("my_policy_module:Highest:height=2", "height"),
        ("my_broken_module:Highest", "importing 'my_broken_module' fails (KeyError"),
        ("my_syntax_error:Highest", "importing 'my_syntax_error' fails (SyntaxError"),
        ("my_needy_module:Highest", "cannot import 'my_needy_module'"),
    ],
)
def test_wrong_policies_are_one_clear_line(own: Path, spec: str, complaint: str) -> None:
    with pytest.raises(PolicyError) as caught:
        make_policy(spec)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
