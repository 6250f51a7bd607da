# SPDX-License-Identifier: Apache-2.0
"""Forward batches of ONNX Runtime for bench/peers.py: ort_infer.py infer MODEL BATCH THREADS f32

The model of torch_step.py, exported by PyTorch and kept beside the environment, runs on the CPU provider with all
graph optimizations. Prints {"version": ...}, then {"ms": ...} a batch, without end.
"""
import json
import os
import subprocess
import sys
import time


def export(name, batch, path):
    import torch
    import torch_step
    torch.manual_seed(1)
    net, x, _ = torch_step.build(name, batch)
    net.eval()
    torch.onnx.export(net, (x.contiguous(),), path + ".new", input_names=["x"], dynamo=False, opset_version=17)
    os.replace(path + ".new", path)


def main():
    name, batch, threads = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    path = os.path.join(sys.prefix, f"{name}-{batch}.onnx")
    if sys.argv[1] == "export":
        return export(name, batch, path)
    if not os.path.exists(path):
        # In a process of its own, whose threads and memory then are gone.
        subprocess.run([sys.executable, __file__, "export", name, str(batch), "1"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    x = session.get_inputs()[0]
    if "int64" in x.type:
        feed = {x.name: numpy.random.randint(0, 10000, x.shape)}
    else:
        feed = {x.name: numpy.random.randn(*x.shape).astype("float32")}
    print(json.dumps({"version": onnxruntime.__version__}), flush=True)
    while True:
        begin = time.perf_counter()
        session.run(None, feed)
        print(json.dumps({"ms": (time.perf_counter() - begin) * 1e3}), flush=True)


main()
