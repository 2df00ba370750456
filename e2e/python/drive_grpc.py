"""Drives models through the proxy with the unmodified tritonclient over gRPC: unary calls, streams in both directions,
a deadline while another call is under way on the same connection, errors.

usage: drive_grpc.py PROXY_ADDRESS DIRECT_ADDRESS UNARY_CALLS FOLDER

FOLDER is where the models look for the files that they wait for. Prints how many calls of which kind were made.
"""

import json
import pathlib
import queue
import sys

import numpy as np
import tritonclient.grpc as grpc

PATIENCE = 60


def tensor(name, values, kind):
    values = np.asarray(values)
    made = grpc.InferInput(name, list(values.shape), kind)
    made.set_data_from_numpy(values)
    return made


def text(value):
    return tensor("GATE", np.array([value.encode()], dtype=object), "BYTES")


def unary(proxy, direct, calls):
    """Answers are the same through the proxy and past it; some are compressed, some are large."""
    for number in range(calls):
        rows = np.random.default_rng(number).uniform(-1, 1, (1 + number % 3, 3)).astype(np.float32)
        inputs = [tensor("INPUT", rows, "FP32")]
        compression = [None, "gzip", "deflate"][number % 3]
        options = {"request_id": f"call-{number}", "headers": {"x-request-id": f"call-{number}"}}
        through = proxy.infer("score", inputs, compression_algorithm=compression, **options)
        straight = direct.infer("score", inputs, **options)
        assert through.get_response() == straight.get_response(), number


class Stream:
    """A stream whose answers can be waited for."""

    def __init__(self, client):
        self.client, self.answers = client, queue.Queue()
        client.start_stream(callback=lambda result, error: self.answers.put((result, error)))

    def ask(self, count, gate, name):
        inputs = [tensor("N", np.array([count], dtype=np.int32), "INT32"), text(gate)]
        self.client.async_stream_infer("stream", inputs, request_id=name)

    def next(self):
        result, error = self.answers.get(timeout=PATIENCE)
        assert error is None, error
        return result.as_numpy("OUT")[0], result.get_response().id


def stream(url, folder):
    """Each answer comes before the next is made, and the second request is sent after answers to the first came."""
    client = grpc.InferenceServerClient(url)
    both = Stream(client)
    both.ask(4, f"{folder}/s", "first")
    for number in range(4):
        assert both.next() == (number * 0.5, "first")
        (folder / f"s{number + 1}").touch()
    both.ask(2, "", "second")
    assert [both.next(), both.next()] == [(0.0, "second"), (0.5, "second")]
    client.stop_stream()


def deadline(url, folder):
    """A call that passes its deadline takes no other with it, on one connection."""
    client = grpc.InferenceServerClient(url)
    other = Stream(client)
    other.ask(2, f"{folder}/d", "other")
    assert other.next() == (0.0, "other")
    for _ in range(3):
        try:
            client.infer("gate", [text(f"{folder}/gate")], client_timeout=0.2)
            raise AssertionError("answered past its deadline")
        except grpc.InferenceServerException as error:
            assert "DEADLINE_EXCEEDED" in error.status(), error
    (folder / "d1").touch()
    assert other.next() == (0.5, "other")
    client.stop_stream()
    (folder / "gate").touch()


def errors(proxy, direct):
    """Errors are the server's own, word for word."""
    bad_shape = [tensor("INPUT", np.zeros((1, 4), dtype=np.float32), "FP32")]
    good_shape = [tensor("INPUT", np.zeros((1, 3), dtype=np.float32), "FP32")]
    for model, inputs in (("score", bad_shape), ("no-such-model", good_shape)):
        said = []
        for client in (proxy, direct):
            try:
                client.infer(model, inputs, request_id="e")
                raise AssertionError("answered")
            except grpc.InferenceServerException as error:
                said.append((error.status(), error.message()))
        assert said[0] == said[1], said


def main(proxy_url, direct_url, calls, folder):
    folder = pathlib.Path(folder)
    proxy, direct = grpc.InferenceServerClient(proxy_url), grpc.InferenceServerClient(direct_url)
    assert proxy.is_server_ready() and proxy.is_model_ready("score")
    assert proxy.get_server_metadata() == direct.get_server_metadata()
    unary(proxy, direct, calls)
    stream(proxy_url, folder)
    deadline(proxy_url, folder)
    errors(proxy, direct)
    print(json.dumps({"unary": calls, "streams": 2, "deadlines": 3, "errors": 2}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
