#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Learning is real: accuracy on Fashion-MNIST's test set, bits per byte on held-out King James text.
. "$(dirname "$0")/../e2e/lib.bash"
images=idx:/usr/share/datasets/fashion-mnist

# mean of "accuracy" over seeds 1 2 3, in hundredths of a percent, in $mean.
mean_accuracy()
{
	local sum=0 a
	for seed in $1; do
		run train "${@:2}" --seed $seed --json --eval
		a=$(field accuracy)
		echo "   seed $seed: accuracy $a"
		sum=$(python3 -c "print($sum + float('$a' or 0))")
	done
	mean=$(python3 -c "print(int(round($sum / len('$1'.split()) * 10000)))")
}

mean_accuracy "1 2 3" lenet5 --data $images --batch 64 --epochs 5 --optim adam --lr 0.001
[ "$mean" -ge 8750 ] && ok "lenet5, 5 epochs, 3 seeds: $mean / 10000" || not_ok "lenet5: $mean / 10000"
mean_accuracy "1 2 3" convnet --data $images --batch 64 --epochs 5 --lr 0.002 --schedule cosine
[ "$mean" -ge 9100 ] && ok "convnet, 5 epochs, 3 seeds: $mean / 10000" || not_ok "convnet: $mean / 10000"
make --no-print-directory NEED=0 train-text >"$work/out" 2>"$work/err"
bits=$(sed -n 's/.*bits per byte \([0-9.]*\).*/\1/p' "$work/out" | tail -n 1)
python3 -c "import sys; sys.exit(not float('$bits' or 9) < 2.2)" && ok "the GPT: $bits bits per byte" ||
	not_ok "the GPT: $bits bits per byte"
finish
