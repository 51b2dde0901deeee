# SPDX-License-Identifier: Apache-2.0
# check.py MODEL…: what ONNX's own checker and reader say of each model, a line of JSON each.
import json
import sys

import onnx

ELEMENTS = {onnx.TensorProto.FLOAT: "float", onnx.TensorProto.UINT8: "uint8", onnx.TensorProto.INT64: "int64"}


def border(value):
    tensor = value.type.tensor_type
    shape = [d.dim_param or d.dim_value for d in tensor.shape.dim]
    return [value.name, ELEMENTS[tensor.elem_type], shape]


for path in sys.argv[1:]:
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    print(
        json.dumps(
            {
                "inputs": [border(v) for v in model.graph.input],
                "outputs": [border(v) for v in model.graph.output],
                "constants": [t.name for t in model.graph.initializer],
                "opset": [[o.domain, o.version] for o in model.opset_import],
                "metadata": {p.key: p.value for p in model.metadata_props},
            },
            sort_keys=True,
        )
    )
