#!/usr/bin/env bash
# Make a virtual environment with kvbounds and the real SGLang on a machine without a GPU:
# about 2 minutes and 2.6 GB. SGLang itself is not changed.
#
#   bash empirical/sglang/install_cpu.sh VENV [PYTHON]
#
# On a GPU machine none of this is needed: pip install "kvbounds[sglang]".
set -euo pipefail

if [ $# -lt 1 ]; then
  echo "install_cpu.sh: error: no folder for the virtual environment; usage: install_cpu.sh VENV [PYTHON]" >&2
  exit 2
fi
venv=$1
python=${2:-python3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

"$python" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }

# This version of torch is the CPU build; torchvision and triton would ask for a CUDA build.
pip torch==2.13.0
pip --no-deps sglang==0.5.23 torchvision==0.28.0 triton==3.9.0
# What a text model on one CPU worker needs of SGLang's own requirements.
pip transformers==5.19.0 aiohttp orjson psutil pybase64 requests pillow msgspec pyzmq ipython \
  pydantic starlette dill apache-tvm-ffi sentencepiece compressed-tensors gguf fastapi uvicorn \
  uvloop prometheus-client python-multipart openai==2.8.0 partial-json-parser setproctitle einops \
  jsonschema xgrammar==0.2.7 soundfile
pip -e "$root[test,gateway]"
# The shims stand in for two compiled libraries that cannot load without CUDA; a .pth file puts
# them first on the path of every process, the scheduler's included.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
shims=$("$venv/bin/python" -c 'import sys; print(repr(sys.argv[1]))' "$root/empirical/sglang/cpu_shims")
cat >"$site/kvbounds_cpu_shims.pth" <<PTH
import os, sys; sys.path.insert(0, $shims); os.environ.setdefault("SGLANG_USE_CPU_ENGINE", "1")
PTH

"$venv/bin/python" -c 'import sglang; print("sglang", sglang.__version__, "is ready on the CPU")'
