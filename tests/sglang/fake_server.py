"""A stand-in for SGLang's server, with the faults that a real one takes too long to show.

It is started in place of the interpreter that has SGLang, with the same arguments. ``FAKE`` in the
environment says how it misbehaves::

    die-at-start     print a traceback and exit before it listens
    never-ready      listen, and answer 503 to /health
    die-after:N      exit without a word at the N-th request
    error-after:N    answer 500 from the N-th request on
    hang-after:N     be silent from the N-th request on
    cut-after:N      break off the stream from the N-th request on
    child            start a child process, whose id stands in the log, and ignore SIGTERM

Its cache has no bounds: a prompt finds its longest prefix that an earlier prompt had.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

FAULT, _, NUMBER = os.environ.get("FAKE", "").partition(":")
FROM = int(NUMBER or 0)
MS_PER_TOKEN = 0.2
INFO = {
    "page_size": 1,
    "max_total_num_tokens": 1 << 20,
    "chunked_prefill_size": 8192,
    "radix_eviction_policy": "lru",
    "version": "fake",
    "device": "cpu",
    "disable_overlap_schedule": False,
}


class Handler(BaseHTTPRequestHandler):
    """Answers as SGLang 0.5.23 does."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    known: ClassVar[set[tuple[int, ...]]] = set()
    count = 0

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Be quiet."""

    def answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/health":
            self.answer(503 if FAULT == "never-ready" else 200, {})
        elif self.path == "/server_info":
            self.answer(200, INFO)
        else:
            self.answer(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
        if self.path.startswith("/flush_cache"):
            with self.lock:
                self.known.clear()
            self.answer(200, "flushed")
            return
        with self.lock:
            type(self).count += 1
            faulty = FROM and self.count >= FROM
            ids = tuple(body["input_ids"])
            cached = max((n for n in range(len(ids)) if ids[:n] in self.known), default=0)
            self.known.update(ids[: n + 1] for n in range(len(ids)))
        if faulty and FAULT == "die-after":
            os._exit(7)
        if faulty and FAULT == "error-after":
            self.answer(500, {"error": {"message": "out of memory"}})
            return
        if faulty and FAULT == "hang-after":
            time.sleep(3600)
        time.sleep(MS_PER_TOKEN / 1e3 * (len(ids) - cached))
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        wanted = body["sampling_params"]["max_new_tokens"]
        for done in range(1, wanted + 1):
            if faulty and FAULT == "cut-after":
                break
            facts = {"cached_tokens": cached, "prompt_tokens": len(ids), "completion_tokens": done}
            event = {"output_ids": list(range(1, done + 1)), "meta_info": facts}
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        else:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def main() -> None:
    """Serve until killed."""
    if FAULT == "die-at-start":
        print("Traceback: the model does not fit", flush=True)
        sys.exit(3)
    if FAULT == "child":
        child = subprocess.Popen(["sleep", "600"])
        print(f"child {child.pid}", flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    port = int(sys.argv[sys.argv.index("--port") + 1])
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
