#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Inference that streams its weights from a disk says what one that holds them says.
. "$(dirname "$0")/lib.bash"
model="mlp:sizes=64-512-512-512-512-10 --input synthetic:64 --batch 8 --json"

works "weights that stay" infer $model
cp "$work/out" "$work/want"
for policy in demand:pipeline=0 demand; do
	for budget in 1450000 2000000; do
		works "$policy in $budget bytes" infer $model --policy $policy --budget $budget
		cmp -s "$work/out" "$work/want" && ok "the same lines" || not_ok "the same lines"
	done
done
works "sync" infer $model --policy demand:pipeline=1 --budget 2600000
cmp -s "$work/out" "$work/want" && ok "the same lines" || not_ok "the same lines"
refuses 3 "below the least" "less than a layer" infer $model --policy demand --budget 500000
refuses 2 "pipeline=0..2" "another pipeline" infer $model --policy demand:pipeline=3 --budget 2000000
finish
