"""Answers once the file GATE is there."""

import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            gate = pb_utils.get_input_tensor_by_name(request, "GATE").as_numpy()[0].decode()
            deadline = time.monotonic() + 60
            while not os.path.exists(gate) and time.monotonic() < deadline:
                time.sleep(0.01)
            score = pb_utils.Tensor("SCORE", np.array([0.5], dtype=np.float32))
            responses.append(pb_utils.InferenceResponse([score]))
        return responses
