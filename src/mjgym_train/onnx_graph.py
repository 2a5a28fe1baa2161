"""Policies as ONNX graphs, for programs and machines without Python."""

import importlib.util
from typing import Any

import numpy as np

from mjgym.policies.activations import GELU, LEAK
from mjgym.policies.network import LAYER_NORM, STRIDES, AnyPolicy, Layers, Policy, PolicyError
from mjgym.util.packaged import install

OPSET = 17  # the first one with layer normalisation
INPUT, OUTPUT = "observation", "action"
INSTALL = install("onnx")


def graph_of(policy: AnyPolicy, name: str) -> Any:
    """The policy as an `onnx.ModelProto` in float32.

    Its input `observation` is as environments give it: float32 (n, size), or for images uint8
    (n, height, width, channels), those of several cameras joined along channels. A policy with a
    history takes (n, history, ...), those of its last decisions, the newest last. The output
    `action` is float32 (n, action size), within the bounds, for `repeat` control steps.
    """
    if type(policy) is not Policy:
        raise PolicyError(
            f"{type(policy).__name__} cannot be written as ONNX: only the policy of one agent"
        )
    if policy.chunk > 1 or policy.modes > 1 or policy.memory or policy.acted:
        raise PolicyError(
            "a policy that plans several steps, is a mixture, has a recurrent network or observes"
            " its last action cannot be written as ONNX: only one of a perceptron with chunk=1"
        )
    if importlib.util.find_spec("onnx") is None:
        raise PolicyError(f"ONNX is not installed: {INSTALL}")
    import onnx

    graph = _Graph()
    history = (policy.history,) if policy.history > 1 else ()
    number, seen = onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT
    x = INPUT
    if policy.encoder:
        seen, x = onnx.TensorProto.UINT8, graph.add("Cast", x, to=number)
    x = graph.add("Sub", x, graph.constant(policy.mean))
    x = graph.add("Div", x, graph.constant(policy.deviation))
    if policy.limit is not None:
        x = graph.add("Clip", x, graph.constant(-policy.limit), graph.constant(policy.limit))
    x = graph.convolutions(x, policy) if policy.encoder else graph.add("Flatten", x, axis=1)
    x = graph.perceptron(x, policy.layers, policy.activation)
    x = graph.preferred(x, policy) if policy.bins > 1 else graph.add("Tanh", x)
    half = (policy.high - policy.low) / 2
    x = graph.add("Mul", x, graph.constant(half))
    graph.add("Add", x, graph.constant(policy.low + half), output=OUTPUT)

    make = onnx.helper
    shape = ["n", *history, *policy.mean.shape]
    graph_proto = make.make_graph(
        graph.nodes,
        name,
        [make.make_tensor_value_info(INPUT, seen, shape)],
        [make.make_tensor_value_info(OUTPUT, number, ["n", len(policy.low)])],
        graph.constants,
    )
    opset = make.make_operatorsetid("", OPSET)
    model = make.make_model(graph_proto, opset_imports=[opset], producer_name="mjgym", ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph:
    """Nodes and constants under construction."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        import onnx

        output = output or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        import onnx

        name = f"constant{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def layer(self, x: str, layer: dict[str, np.ndarray]) -> str:
        parameters = self.constant(layer["weight"]), self.constant(layer["bias"])
        if layer["weight"].ndim == 1:
            return self.add("LayerNormalization", x, *parameters, epsilon=LAYER_NORM)
        return self.add("Gemm", x, *parameters, transB=1)

    def perceptron(self, x: str, layers: Layers, activation: str) -> str:
        """Add layers; the activation follows the norms or, without any, all layers but the last."""
        norms = any(layer["weight"].ndim == 1 for layer in layers)
        for layer in layers[:-1]:
            x = self.layer(x, layer)
            if layer["weight"].ndim == 1 or not norms:
                x = self.activated(x, activation)
        return self.layer(x, layers[-1])

    def preferred(self, x: str, policy: Policy) -> str:
        """Add the value, within -1 and 1, of each action's preferred bin."""
        sizes = [-1, len(policy.low), policy.bins]
        if policy.support is not None:
            shape = self.constant([*sizes, len(policy.support)], np.int64)
            x = self.add("Softmax", self.add("Reshape", x, shape), axis=-1)
            x = self.add("MatMul", x, self.constant(policy.support))
        else:
            x = self.add("Reshape", x, self.constant(sizes, np.int64))
        index = self.add("Cast", self.add("ArgMax", x, axis=-1, keepdims=0), to=1)  # to float
        scaled = self.add("Mul", index, self.constant(2 / (policy.bins - 1)))
        return self.add("Sub", scaled, self.constant(1))

    def activated(self, x: str, activation: str) -> str:
        """Add an activation of `activations`; opset 17 has neither SiLU nor GELU."""
        if activation == "silu":
            return self.add("Mul", x, self.add("Sigmoid", x))
        if activation == "gelu":
            factor, cube = (self.constant(value) for value in GELU)
            cubed = self.add("Mul", self.add("Mul", self.add("Mul", x, x), x), cube)
            inner = self.add("Mul", self.add("Add", x, cubed), factor)
            share = self.add("Add", self.add("Tanh", inner), self.constant(1))
            return self.add("Mul", self.add("Mul", x, self.constant(0.5)), share)
        if activation == "leaky_relu":
            return self.add("LeakyRelu", x, alpha=LEAK)
        return self.add({"relu": "Relu", "elu": "Elu", "tanh": "Tanh"}[activation], x)

    def convolutions(self, x: str, policy: Policy) -> str:
        *convolutions, linear, norm = policy.encoder
        height, width, channels = policy.mean.shape
        # The channels of a history are concatenated, oldest first.
        x = self.add("Transpose", x, perm=(0, 1, 4, 2, 3) if policy.history > 1 else (0, 3, 1, 2))
        if policy.history > 1:
            sizes = 0, policy.history * channels, height, width  # 0 keeps the input's
            x = self.add("Reshape", x, self.constant(sizes, np.int64))
        for layer, stride in zip(convolutions, STRIDES[: len(convolutions)], strict=True):
            parameters = self.constant(layer["weight"]), self.constant(layer["bias"])
            x = self.add("Relu", self.add("Conv", x, *parameters, strides=(stride, stride)))
        x = self.layer(self.add("Flatten", x, axis=1), linear)
        return self.add("Tanh", self.layer(x, norm))
