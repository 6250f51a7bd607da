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
mean_accuracy "1" convnet --data $images --batch 64 --epochs 5 --lr 0.002 --schedule cosine
[ "$mean" -ge 9100 ] && ok "convnet, 5 epochs: $mean / 10000" || not_ok "convnet: $mean / 10000"
finish
