#!/usr/bin/env bash
# The whole replay on one machine with a CUDA GPU, in under 8 minutes: two worst cases, of Leaf-LRU
# and of SGLang's LRU, under SGLang's LRU, Leaf-LRU and RLT, and a shared-prefix workload whose times
# are fitted. One report.
#
#   bash empirical/sglang/gpu_replay.sh OUT [--device cuda|cpu] [--model DIR]
#
# OUT is a folder; report.json in it has the reports of all runs (kvbounds/replay/1) and the profile.
# kvbounds and SGLang must be installed: pip install "kvbounds[sglang]" (install_cpu.sh on a CPU).
set -euo pipefail

fail() { echo "gpu_replay.sh: error: $1" >&2; exit 2; }

[ $# -ge 1 ] || fail "no folder for the reports; usage: gpu_replay.sh OUT [--device cuda|cpu] [--model DIR]"
out=$1
shift
device=cuda
model=()
while [ $# -gt 0 ]; do
  case $1 in
    --device) device=${2:?}; shift 2 ;;
    --model) model=(--model "${2:?}"); shift 2 ;;
    *) fail "unknown option $1" ;;
  esac
done
command -v kvbounds >/dev/null || fail "kvbounds is not on the path; activate its environment"
mkdir -p "$out"

# A handle of 4 * 16 tokens and 9 leaves of 16 tokens, of which 8 fit.
kvbounds adversary cyclic --capacity 12 --length 5 --out "$out/cyclic.json" --quiet >/dev/null
# Three chains of 2 * 16 tokens, one of 11 * 16 and one of 16, two of 16 tokens more than fit.
kvbounds adversary sglang-twice --set weight=11 --out "$out/twice.json" --quiet >/dev/null
for run in cyclic:8 twice:3; do
  name=${run%:*}
  for eviction in lru kvbounds-leaf-lru kvbounds-rlt; do
    kvbounds replay --instance "$out/$name.json" --cycles "${run#*:}" --stretch 16 --start 1 \
      --eviction "$eviction" --device "$device" "${model[@]}" --timeout 120 \
      --log-dir "$out/logs-$name-$eviction" --quiet --out "$out/$name-$eviction.json"
  done
done
kvbounds replay --workload gsp:groups=6,prompts=16,lengths=512+1024+2048+4096,output=16 --output-tokens 16 \
  --start 1 --eviction kvbounds-rlt --capacity 16384 --device "$device" "${model[@]}" --timeout 120 \
  --log-dir "$out/logs-workload" --quiet --out "$out/workload.json"
kvbounds calibrate "$out/workload.json" --out "$out/profile.json"
"$(dirname "$(command -v kvbounds)")/python" - "$out" <<'PY'
import json, pathlib, sys

out = pathlib.Path(sys.argv[1])
evictions = ["lru", "kvbounds-leaf-lru", "kvbounds-rlt"]
names = [f"{name}-{eviction}" for name in ("cyclic", "twice") for eviction in evictions]
names.append("workload")
runs = {name: json.loads((out / f"{name}.json").read_text()) for name in names}
report = {"schema": "kvbounds/replays/1", "profile": json.loads((out / "profile.json").read_text())}
(out / "report.json").write_text(json.dumps(report | {"runs": runs}) + "\n")
for name, run in runs.items():
    summary = run["summary"]
    print(f"{name}: {summary['exact_rows']} of {summary['queries']} queries as predicted, "
          f"hit rate {summary['hit_rate']:.4f}")
PY
