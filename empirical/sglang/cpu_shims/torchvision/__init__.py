"""The real torchvision, importable beside a CPU build of torch.

The wheel's compiled part needs CUDA and does not load, so the operators that its Python part
registers meta functions for are unknown. Declaring their schemas first is enough: no text model
calls them.
"""

import importlib.machinery
import pathlib
import sys

import torch

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")
for _name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, _name):
        _LIBRARY.define(_name + _SCHEMA)

_shims = pathlib.Path(__file__).resolve().parent.parent
_elsewhere = [entry for entry in sys.path if pathlib.Path(entry or ".").resolve() != _shims]
_real = importlib.machinery.PathFinder.find_spec("torchvision", _elsewhere)
if _real is None or _real.origin is None or _real.submodule_search_locations is None:
    raise ImportError("torchvision is not installed")
__path__ = list(_real.submodule_search_locations)
__file__ = _real.origin
__spec__.submodule_search_locations = __path__
exec(compile(pathlib.Path(__file__).read_text(encoding="utf-8"), __file__, "exec"))
