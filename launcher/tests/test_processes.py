"""Commands of the processes, run as bin/up runs them."""

import resource
import socket
from contextlib import ExitStack

from launcher import children, processes, valkey
from launcher.checkout import PYTHON, ROOT
from launcher.waiting import until

# More than two web processes hold by their default.
KEPT_CONNECTIONS = 1_200
REQUEST = b"GET /?10 HTTP/1.1\r\nHost: test\r\n\r\n"


def test_more_than_a_thousand_clients_keep_their_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    port = valkey.free_port()
    program, *options, _target = processes.command("web", data="/nowhere", host="127.0.0.1", port=port)
    command = [str(PYTHON.with_name(program)), *options, "bench.constant:application"]
    child = children.spawn(command, cwd=ROOT)
    with ExitStack() as stack:
        stack.callback(children.stop, child)
        assert until(lambda: not valkey.is_free(port), 20)

        for _ in range(KEPT_CONNECTIONS):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            client.sendall(REQUEST)
            assert client.recv(100).startswith(b"HTTP/1.1 200")
