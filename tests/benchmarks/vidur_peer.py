"""Vidur on the requests that stdin gives; prints latencies as JSON. Its interpreter has vidur.

Its times of iterations come from profiles of GPUs that its package does not hold. They are set to
the given ones here, so that what is compared is the rest: queues, batches, memory, events.
"""

import json
import sys
import tempfile
import time
from types import SimpleNamespace


def linear(fixed, prefill, decode, context):
    """A class with the given times, in place of a predictor."""

    class Linear:
        def __init__(self, **_):
            pass

        def get_execution_time(self, batch, stage):
            computed = sequences = before = 0
            for request, tokens in zip(batch.requests, batch.num_q_tokens, strict=True):
                if request.is_prefill_complete:
                    sequences += 1
                    before += request.num_processed_tokens
                else:
                    computed += tokens
            ms = fixed + prefill * computed + decode * sequences + context * before
            return SimpleNamespace(total_time=ms / 1000, model_time=ms / 1000)

    return Linear


def configuration(given, folder):
    """One GPU a replica, round-robin, no memory kept in reserve."""
    from vidur import config

    scheduler = (
        config.VllmSchedulerConfig(
            batch_size_cap=given["max_running"], max_tokens_in_batch=given["chunk"]
        )
        if given["scheduler"] == "prefill-first"
        else config.SarathiSchedulerConfig(
            batch_size_cap=given["max_running"], chunk_size=given["chunk"]
        )
    )
    return config.SimulationConfig(
        log_level="error",
        cluster_config=config.ClusterConfig(
            num_replicas=given["workers"],
            replica_config=config.ReplicaConfig(num_pipeline_stages=1, tensor_parallel_size=1),
            cache_config=config.CacheConfig(
                block_size=given["block_size"],
                num_blocks=given["capacity"] // given["block_size"],
                watermark_blocks_fraction=0.0,
            ),
            replica_scheduler_config=scheduler,
        ),
        metrics_config=config.MetricsConfig(
            write_metrics=False, enable_chrome_trace=False, store_plots=False, output_dir=folder
        ),
    )


def main():
    """Read, simulate, print."""
    from vidur.entities import Request
    from vidur.execution_time_predictor import ExecutionTimePredictorRegistry
    from vidur.simulator import Simulator
    from vidur.types import ExecutionTimePredictorType

    given = json.load(sys.stdin)
    kind = ExecutionTimePredictorType.RANDOM_FORREST
    ExecutionTimePredictorRegistry.unregister(kind)
    ExecutionTimePredictorRegistry.register(kind, linear(*given["times_ms"]))
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(configuration(given, folder))
        requests = [Request(ms / 1000, prompt, output) for ms, prompt, output in given["requests"]]
        simulator._request_generator = SimpleNamespace(generate=lambda: requests)
        simulator._event_queue.clear()
        simulator._init_event_queue()
        simulator._metric_store.plot = lambda: None
        began = time.perf_counter()
        simulator.run()
        seconds = time.perf_counter() - began
    found = {
        "seconds": seconds,
        "first_ms": [1000 * (one.prefill_completed_at - one.arrived_at) for one in requests],
        "last_ms": [1000 * (one.completed_at - one.arrived_at) for one in requests],
        "restarts": sum(one.num_restarts for one in requests),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
