"""Sends the same inputs to a model by the three ways that tritonclient knows: JSON, binary tensors over HTTP, gRPC.

usage: drive_three_ways.py PROXY_OF_HTTP PROXY_OF_GRPC INPUTS

Request ids are WAY-NUMBER. The last three of every ten inputs plant a fault in the candidate.
"""

import sys

import numpy as np
import tritonclient.grpc as grpc
import tritonclient.http as http

OUTPUTS = ("SCORE", "LABEL", "NAME")


def rows(number):
    """One to three rows; the sum stays near 0 so that the scores are not all 1."""
    values = np.random.default_rng(number).uniform(-1, 1, (1 + number % 3, 3)).astype(np.float32)
    fault = number % 10 if number % 10 in (7, 8, 9) else 0
    values[0, 0] = fault
    values[0, 1] -= fault
    return values


def over_http(client, values, binary, name):
    tensor = http.InferInput("INPUT", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values, binary_data=binary)
    outputs = [http.InferRequestedOutput(output, binary_data=binary) for output in OUTPUTS]
    return client.infer("score", [tensor], outputs=outputs, request_id=name, headers={"x-request-id": name})


def over_grpc(client, values, name):
    tensor = grpc.InferInput("INPUT", list(values.shape), "FP32")
    tensor.set_data_from_numpy(values)
    return client.infer("score", [tensor], request_id=name, headers={"x-request-id": name})


def main(http_address, grpc_address, inputs):
    over, calls = http.InferenceServerClient(http_address), grpc.InferenceServerClient(grpc_address)
    for number in range(inputs):
        values = rows(number)
        answers = [
            over_http(over, values, False, f"json-{number}"),
            over_http(over, values, True, f"binary-{number}"),
            over_grpc(calls, values, f"grpc-{number}"),
        ]
        # Text is bytes in one way and str in another, to this client.
        for output in OUTPUTS[:2]:
            for answer in answers[1:]:
                np.testing.assert_array_equal(answers[0].as_numpy(output), answer.as_numpy(output))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
