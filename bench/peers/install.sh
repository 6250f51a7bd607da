#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench/peers/install.sh FOLDER ; an environment for bench/peers.py outside of the tree: the newest PyTorch
# and ONNX Runtime by pip, and OpenBLAS as files for Debian's own PyTorch, whose reference BLAS is hopeless.
set -eu
folder=$1
python3 -m venv "$folder" || { echo "python3 -m venv failed; Debian has it in python3-venv"; exit 1; }
"$folder/bin/pip" install --quiet --upgrade torch onnxruntime onnx numpy
"$folder/bin/python" -c 'import torch, onnxruntime; print("PyTorch", torch.__version__, "ONNX Runtime", onnxruntime.__version__)'
"$(dirname "$0")/openblas.sh" "$folder"
