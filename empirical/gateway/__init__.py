"""A router as an HTTP server: in front of SGLang workers, or of anything that speaks like them.

One process, one event loop. A request is read (`prompt`), named a worker by a router of
`theory.routing` and given a place there (`dispatch`), and passed on as it is (`upstream`); the
answer is passed back as it comes, streams included (`relay`). A worker that fails is taken out and
comes back when it is healthy (`health`). Nothing is unbounded: the requests in flight and in the
queue, the size of a request and the router's prefix index all have a limit (`options`).
"""

from empirical.gateway.metrics import OUTCOMES
from empirical.gateway.options import GatewayOptions
from empirical.gateway.prompt import Prompt, read_prompt
from empirical.gateway.server import Gateway, serve_until_signal

__all__ = ["OUTCOMES", "Gateway", "GatewayOptions", "Prompt", "read_prompt", "serve_until_signal"]
