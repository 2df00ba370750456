"""Drives a model through the proxy and directly with the unmodified tritonclient, and compares the answers.

usage: drive.py PROXY_URL DIRECT_URL REQUESTS SENT_FILE

Requests take turns in how they ask: outputs as JSON or as binary (the client's default), inputs the same, bodies
compressed or not, one to three rows; eight are under way at a time. The last three of every ten plant a fault in
the candidate. Writes one JSON line per request: its id, how it asked, which fault it planted, and the scores that
the client got.
"""

import json
import sys

import numpy as np
import tritonclient.http as http

ENCODINGS = ["json", "binary", "json_gzip", "binary_gzip", "mixed", "binary_deflate"]
CONCURRENCY = 8


def asks(number):
    """How request `number` asks, and which fault it plants."""
    return ENCODINGS[number % len(ENCODINGS)], number % 10 if number % 10 in (7, 8, 9) else 0


def ask(client, number):
    encoding, fault = asks(number)
    rows = np.random.default_rng(number).uniform(-1, 1, (1 + number % 3, 3)).astype(np.float32)
    # Far from the faults' marks otherwise; the sum stays near 0 so that the scores are not all 1.
    rows[0, 0] = fault
    rows[0, 1] -= fault
    tensor = http.InferInput("INPUT", list(rows.shape), "FP32")
    tensor.set_data_from_numpy(rows, binary_data=not encoding.startswith("json"))
    outputs = None
    if encoding.startswith("json") or encoding == "mixed":
        outputs = [
            http.InferRequestedOutput("SCORE", binary_data=encoding == "mixed"),
            http.InferRequestedOutput("LABEL", binary_data=False),
            http.InferRequestedOutput("NAME", binary_data=False),
        ]
    compression = encoding.split("_")[1] if "_" in encoding else None
    return client.async_infer(
        "score",
        [tensor],
        outputs=outputs,
        request_id=f"request-{number}",
        headers={"X-Request-Id": f"request-{number}"},
        request_compression_algorithm=compression,
        response_compression_algorithm=compression,
    )


def compare(through, straight, number):
    """Both answers to request `number` must be the same; gives the line about it."""
    encoding, fault = asks(number)
    assert through.get_response() == straight.get_response(), (number, encoding)
    for name in ("SCORE", "LABEL", "NAME"):
        np.testing.assert_array_equal(through.as_numpy(name), straight.as_numpy(name))
    scores = through.as_numpy("SCORE").astype(np.float64).ravel().tolist()
    return {"id": f"request-{number}", "encoding": encoding, "fault": fault, "scores": scores}


def main(proxy_url, direct_url, requests, sent_file):
    strip = lambda url: url.removeprefix("http://")
    proxy = http.InferenceServerClient(strip(proxy_url), concurrency=CONCURRENCY)
    direct = http.InferenceServerClient(strip(direct_url), concurrency=CONCURRENCY)
    assert proxy.is_server_ready() and proxy.is_model_ready("score")
    with open(sent_file, "w") as sent:
        for first in range(0, requests, CONCURRENCY):
            numbers = range(first, min(first + CONCURRENCY, requests))
            through = [ask(proxy, number) for number in numbers]
            straight = [ask(direct, number) for number in numbers]
            for one, other, number in zip(through, straight, numbers):
                sent.write(json.dumps(compare(one.get_result(), other.get_result(), number)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
