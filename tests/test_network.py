"""No test reaches another machine."""

import socket
import urllib.request

import pytest


def test_other_machines_are_out_of_reach():
    # An address that is reserved for documentation.
    with socket.socket() as one, pytest.raises(OSError, match="tests may not reach"):
        one.connect(("192.0.2.1", 80))
    with pytest.raises(OSError, match="tests may not reach"):
        urllib.request.urlopen("http://192.0.2.1/", timeout=5)


def test_this_machine_is_within_reach():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname(), timeout=5):
            server.accept()[0].close()
