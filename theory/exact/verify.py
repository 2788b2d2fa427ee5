"""Check a certificate from first principles.

Nothing of the solver is used, only the model: trie, instance, cache and policies. The policy runs
in the executable cache; the optimum is recomputed by two methods of its own: the work function on
all prefix-closed caches, entry by entry, for the upper bound, and farthest-next-use on the cycle,
endlessly repeated, for the lower bound. Every number of a certificate is determined by the checks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from theory.errors import ClaimError, InputError
from theory.eviction import make_policy
from theory.exact.entry import Entry, reject
from theory.exact.replay import optimum_of_cycle, policy_of_cycle
from theory.exact.verify_upper import verify_upper
from theory.exact.verify_value import verify_value
from theory.jsonfile import dumps, read_json
from theory.model import Instance

__all__ = ["Verdict", "verify", "verify_file"]

SCHEMA = "kvbounds/certificate/1"
FIELDS = ("schema", "kind", "policy", "ratio", "complete", "instance", "lower", "upper", "digest")


@dataclass(frozen=True)
class Verdict:
    """What a valid certificate has established.

    Attributes
    ----------
    kind : str
        "ratio" or "value".
    policy : str
        The policy; empty for the value of a game.
    ratio : str
        The ratio.
    establishes : str
        The statement, in words.
    """

    kind: str
    policy: str
    ratio: str
    establishes: str


def verify_file(path: str) -> Verdict:
    """Read a certificate and check it (see `verify`)."""
    return verify(read_json(path, SCHEMA), path)


def verify(value: Any, where: str = "certificate") -> Verdict:
    """Check a certificate.

    Parameters
    ----------
    value : object
        The parsed JSON.
    where : str
        What messages call it.

    Raises
    ------
    ClaimError
        With the JSON pointer of the first entry that fails.

    Examples
    --------
    >>> from theory.exact import Arena, certificate, exact_ratio
    >>> from theory.trie import TokenTrie
    >>> star = Arena(TokenTrie.from_parents([-1, -1, -1]), 2)
    >>> print(verify(certificate(exact_ratio(star, "leaf-lru"))).establishes)
    leaf-lru has ratio exactly 2: on every sequence of these steps it pays at most 2 OPT + 0, no
    smaller constant does, and a cycle of 6 steps costs it 6 against 3
    """
    root = Entry(value, f"{where}#")
    if root.at("schema").value != SCHEMA:
        reject(root.at("schema"), f"is not {SCHEMA!r}")
    kind = root.at("kind").value
    if kind == "ratio":
        verdict = _verify_ratio(root)
    elif kind == "value":
        upper, told = verify_value(root)
        verdict = Verdict("value", "", str(upper), told)
    else:
        reject(root.at("kind"), f"{kind!r} is no kind of certificate")
    rest = {key: entry for key, entry in value.items() if key != "digest"}
    root.at("digest").expect(hashlib.sha256(dumps(rest).encode()).hexdigest())
    return verdict


def _verify_ratio(root: Entry) -> Verdict:
    root.only(*FIELDS)
    policy = _policy(root.at("policy"))
    instance = _instance(root.at("instance"))
    cycle = f"a cycle of {len(instance.cycle)} steps"
    lower = root.at("lower")
    lower.only("policy_cost", "optimum_cost")
    try:
        paid, owed = policy_of_cycle(instance, policy), optimum_of_cycle(instance)
    except InputError as error:
        reject(root.at("instance").at("steps"), str(error))
    lower.at("policy_cost").expect(str(paid))
    lower.at("optimum_cost").expect(str(owed))
    if paid == 0:
        reject(lower.at("policy_cost"), "a cycle that costs nothing shows nothing")
    root.at("ratio").expect(str(paid / owed) if owed else "unbounded")
    costs = f"{cycle} costs it {paid} against {owed}"
    upper = root.at("upper")
    root.at("complete").expect(upper.value is not None or not owed)
    if not owed:
        if upper.value is not None:
            reject(upper, "an unbounded ratio has no upper bound")
        told = f"{policy} has no finite ratio: {costs}"
    elif upper.value is None:
        told = f"{policy} has ratio at least {paid / owed}: {costs}"
    else:
        try:
            additive = verify_upper(upper, instance, policy, paid / owed)
        except InputError as error:
            reject(upper, str(error))
        told = (
            f"{policy} has ratio exactly {paid / owed}: on every sequence of these steps it pays "
            f"at most {paid / owed} OPT + {additive}, no smaller constant does, and {costs}"
        )
    return Verdict("ratio", policy, str(root.at("ratio").value), told)


def _policy(entry: Entry) -> str:
    if not isinstance(entry.value, str):
        reject(entry, "is not a policy's name")
    try:
        make_policy(entry.value)
    except InputError as error:
        reject(entry, str(error))
    return entry.value


def _instance(entry: Entry) -> Instance:
    """The witness; every field as `Instance.to_json` writes it."""
    try:
        instance = Instance.from_json(entry.value, entry.where)
    except InputError as error:
        raise ClaimError(str(error).replace(f"{entry.where}#", entry.where)) from None
    for key, value in instance.to_json().items():
        entry.at(key).expect(value)
    entry.only(*instance.to_json())
    if instance.cycle_start is None:
        reject(entry, "has no cycle_start")
    return instance
