"""Dynamo's mocker on a trace, offline; prints what it reuses. Its interpreter has dynamo."""

import json
import sys
import time


def main(trace, workers, blocks, size, scheduler_tokens):
    """Replay and print, query by query in the order of arrival."""
    from dynamo.replay import run_trace_replay

    engine = {
        "backend": "vllm",
        "num_gpu_blocks": int(blocks),
        "block_size": int(size),
        "max_num_batched_tokens": int(scheduler_tokens),
    }
    began = time.perf_counter()
    report = run_trace_replay(
        trace,
        num_workers=int(workers),
        trace_block_size=int(size),
        router_mode="round_robin",
        capture_per_request=True,
        extra_engine_args={"engine": engine},
    )
    seconds = time.perf_counter() - began
    rows = sorted(report.per_request, key=lambda row: row["arrival_time_ms"])
    found = {
        "seconds": seconds,
        "hits": [row["reused_input_tokens"] for row in rows],
        "worker": [row["decode_worker_idx"] for row in rows],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
