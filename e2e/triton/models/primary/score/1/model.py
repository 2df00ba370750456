"""Version 1: the logistic function of the sum of three features."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            rows = pb_utils.get_input_tensor_by_name(request, "INPUT").as_numpy()
            score = (1 / (1 + np.exp(-rows.sum(axis=1, keepdims=True)))).astype(np.float32)
            positive = score > 0.5
            responses.append(
                pb_utils.InferenceResponse(
                    [
                        pb_utils.Tensor("SCORE", score),
                        pb_utils.Tensor("LABEL", positive.astype(np.int64)),
                        pb_utils.Tensor("NAME", np.where(positive, b"pos", b"neg").astype(object)),
                    ]
                )
            )
        return responses
