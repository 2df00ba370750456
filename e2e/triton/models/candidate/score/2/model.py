"""Version 2: version 1 with faults planted by the first feature of the request's first row.

7: scores ten times too large; 8: zeros; 9: the next float up; anything else: as version 1.
"""

import numpy as np
import triton_python_backend_utils as pb_utils


def plant(first, score):
    if first == 7:
        return score * np.float32(10)
    if first == 8:
        return np.zeros_like(score)
    if first == 9:
        return np.nextafter(score, np.float32(2))
    return score


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
                        pb_utils.Tensor("SCORE", plant(rows[0, 0], score)),
                        pb_utils.Tensor("LABEL", positive.astype(np.int64)),
                        pb_utils.Tensor("NAME", np.where(positive, b"pos", b"neg").astype(object)),
                    ]
                )
            )
        return responses
