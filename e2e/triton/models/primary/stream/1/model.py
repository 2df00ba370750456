"""N answers to one request, 0, 0.5, 1 …; each after the first waits until the file GATE with its number is there."""

import os
import time

import numpy as np
import triton_python_backend_utils as pb_utils


def wait_for(path):
    deadline = time.monotonic() + 60
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.01)


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            count = int(pb_utils.get_input_tensor_by_name(request, "N").as_numpy()[0])
            gate = pb_utils.get_input_tensor_by_name(request, "GATE").as_numpy()[0].decode()
            sender = request.get_response_sender()
            for number in range(count):
                if number and gate:
                    wait_for(f"{gate}{number}")
                out = pb_utils.Tensor("OUT", np.array([number * 0.5], dtype=np.float32))
                sender.send(pb_utils.InferenceResponse([out]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
