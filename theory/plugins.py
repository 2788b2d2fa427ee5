"""Policies and routers by name: ``name[:parameter=value...]``, or a user's ``module:Class``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from theory.errors import InputError

__all__ = ["Registry", "build", "find_class", "users_own"]

_own_files: set[str] = set()
"""The files of the modules that users have named."""


class Registry(NamedTuple):
    """A kind of class that has names on the command line.

    Attributes
    ----------
    kind : str
        What the user calls it: ``"eviction policy"``, ``"router"``.
    names : mapping of str to str
        Name on the command line -> module:Class.
    base : type
        The class that all of them derive from.
    error : type of InputError
        What is raised.
    """

    kind: str
    names: Mapping[str, str]
    base: type
    error: type[InputError]


def find_class(name: str, registry: Registry) -> Any:
    """The built-in class `name`, or a user's own given as ``module:Class``.

    A user's module is found also in the current folder.

    Raises
    ------
    InputError
        Of the registry's kind, if there is no such class or it is no subclass of its base.
    """
    module_name, _, class_name = registry.names.get(name, name).partition(":")
    if not module_name or not class_name:
        raise registry.error(
            f"unknown {registry.kind} {name!r}",
            where=registry.kind,
            fix=f"{_nearest(name, registry)}choose from {', '.join(sorted(registry.names))}, "
            "or name your own as module:Class",
        )
    here = str(Path.cwd())
    if here not in sys.path and name not in registry.names:
        sys.path.insert(0, here)
    where = f"{registry.kind} {name}"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        fix = "run from the folder that holds the module, or install it"
        if module_name.endswith(".py"):
            fix = f"name the module, not the file: {module_name.removesuffix('.py')}:{class_name}"
        elif error.name != module_name.partition(".")[0]:
            fix = "install what the module imports"
        raise registry.error(
            f"cannot import {module_name!r} ({error})", where=where, fix=fix
        ) from error
    except (
        Exception,
        SystemExit,
    ) as error:  # the module is the user's: whatever it raises is told in one line
        raise registry.error(
            f"importing {module_name!r} fails ({type(error).__name__}: {error})",
            where=where,
            fix="mend the module",
        ) from error
    if name not in registry.names and module.__file__ is not None:
        _own_files.add(module.__file__)
    found = getattr(module, class_name, None)
    if found is None:
        raise registry.error(f"module {module_name!r} has no {class_name!r}", where=where)
    if not (isinstance(found, type) and issubclass(found, registry.base)):
        package = registry.base.__module__.rpartition(".")[0]
        raise registry.error(
            f"is not a subclass of {package}.{registry.base.__name__}", where=where
        )
    return found


def _nearest(name: str, registry: Registry) -> str:
    """Up to three names like `name`, as a question: those with it as a part, then by spelling."""
    word = name.lower().replace("_", "-")
    parts = [known for known in registry.names if word in known.split("-")]
    near = [*dict.fromkeys(parts + get_close_matches(word, registry.names))][:3]
    if word in registry.names:
        near = [word]
    return f"did you mean {', '.join(near)}? " if near else ""


def build(spec: str, registry: Registry) -> Any:
    """Build what `spec` names; dashes in parameter names stand for underscores.

    Raises
    ------
    InputError
        Of the registry's kind, if the name or a parameter is unknown or a value is refused.
    """
    parts = spec.split(":")
    name = ":".join(part for part in parts if "=" not in part)
    parameters: dict[str, Any] = {}
    for part in parts:
        if "=" in part:
            key, _, text = part.partition("=")
            parameters[key.replace("-", "_")] = _value(text)
    found = find_class(name, registry)
    where = f"{registry.kind} {spec}"
    known = _parameters(found)
    unknown = [] if known is None else [key for key in parameters if key not in known]
    if unknown:
        raise registry.error(
            f"has no parameter {unknown[0]!r}",
            where=where,
            fix=f"choose from {', '.join(known or ())}" if known else "give none",
        )
    try:
        return found(**parameters)
    except (TypeError, ValueError) as error:
        raise registry.error(f"cannot be built ({error})", where=where) from error
    except InputError as error:
        raise registry.error(error.what, where=error.where or where, fix=error.fix) from None


def users_own(error: BaseException) -> str | None:
    """Where a user's own class raised `error`, as ``FILE, line N``; None if it was not there.

    Errors of other processes carry their traceback as text, so the text is what is read.
    """
    place = None
    for line in "".join(traceback.format_exception(error)).splitlines():
        matched = re.match(r'\s+File "(.+)", line (\d+)', line)
        if matched and matched[1] in _own_files:
            place = f"{matched[1]}, line {matched[2]}"
    return place


def _parameters(found: type) -> list[str] | None:
    """The names of the parameters; None if it takes any."""
    parameters = inspect.signature(found).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [parameter.name for parameter in parameters]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text.lower(), text)
