"""Drives a model through the proxy and directly with the unmodified tritonclient, and compares the answers.

usage: drive.py PROXY_URL DIRECT_URL REQUESTS SENT_FILE

Requests take turns in how they ask: outputs as JSON or as binary (the client's default), inputs the same,
bodies compressed or not, one to three rows. The last three of every ten plant a fault in the candidate. Writes one
JSON line per request: its id, how it asked, which fault it planted, and the scores that the client got.
"""

import json
import sys

import numpy as np
import tritonclient.http as http

ENCODINGS = ["json", "binary", "json_gzip", "binary_gzip", "mixed", "binary_deflate"]


def ask(client, number, encoding):
    rows = np.random.default_rng(number).uniform(-1, 1, (1 + number % 3, 3)).astype(np.float32)
    fault = number % 10 if number % 10 in (7, 8, 9) else 0
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
    answer = client.infer(
        "score",
        [tensor],
        outputs=outputs,
        request_id=f"request-{number}",
        headers={"X-Request-Id": f"request-{number}"},
        request_compression_algorithm=compression,
        response_compression_algorithm=compression,
    )
    return answer, fault


def main(proxy_url, direct_url, requests, sent_file):
    strip = lambda url: url.removeprefix("http://")
    proxy = http.InferenceServerClient(strip(proxy_url))
    direct = http.InferenceServerClient(strip(direct_url))
    assert proxy.is_server_ready() and proxy.is_model_ready("score")
    with open(sent_file, "w") as sent:
        for number in range(requests):
            encoding = ENCODINGS[number % len(ENCODINGS)]
            through, fault = ask(proxy, number, encoding)
            straight, _ = ask(direct, number, encoding)
            assert through.get_response() == straight.get_response(), (number, encoding)
            for name in ("SCORE", "LABEL", "NAME"):
                np.testing.assert_array_equal(through.as_numpy(name), straight.as_numpy(name))
            scores = through.as_numpy("SCORE").astype(np.float64).ravel().tolist()
            line = {"id": f"request-{number}", "encoding": encoding, "fault": fault, "scores": scores}
            sent.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
