#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every bit is the same inside a budget, at several budgets down to the least; below it, exit 3.
. "$(dirname "$0")/lib.bash"

# budgets NAME MODEL OPTIONS...
budgets()
{
	local name=$1 peak least budget share
	shift
	run plan "$@" --budget 1GiB --json
	peak=$(field unbudgeted_peak_bytes)
	least=$(field least_budget_bytes)
	for share in 100 75 50 35 0; do
		budget=$((peak * share / 100 / 4096 * 4096))
		[ $budget -lt $least ] && budget=$least
		run verify "$@" --steps ${STEPS:-6} --budget $budget --json
		if [ $code != 0 ]; then
			not_ok "$name at $share % (exit $code)"
		elif [ "$(field peak_device_bytes)" != "$(field predicted_peak_bytes)" ]; then
			not_ok "$name at $share %: peak $(field peak_device_bytes), predicted $(field predicted_peak_bytes)"
		elif [ $share -lt 75 ] && [ $(($(field swap_in_bytes) + $(field recompute_ops))) = 0 ]; then
			not_ok "$name at $share %: nothing moved"
		else
			ok "$name at $share % ($budget bytes, $(field swap_in_bytes) in)"
		fi
	done
	refuses 3 "op .*needs" "$name one block below the least" train "$@" --steps 1 --budget $((least - 4096))
}

# What a budget costs, told while it runs and at the end.
run train lenet5 --batch 64 --steps 4 --budget 60% --json
head -n -1 "$work/out" | awk -F '[:,]' '{for (i = 1; i < NF; i++) {if ($i == "\"swap_out_bytes\"") out += $(i + 1)}}
	END {print out}' >"$work/sum"
[ "$(cat "$work/sum")" = "$(field swap_out_bytes)" ] && [ "$(field run_steps)" = 4 ] &&
	[ -n "$(field predicted_iter_ms)" ] && ok "steps tell what the summary adds up" ||
	not_ok "steps add up to $(cat "$work/sum"), the summary says $(field swap_out_bytes)"
works "a share of the peak is verified" verify lenet5 --batch 64 --steps 2 --budget 60%
grep -q 'ops run again a step' "$work/out" && grep -q 'copied out a step' "$work/out" &&
	ok "and says what it cost" || not_ok "and says what it cost"
works "a run for people" train lenet5 --batch 64 --steps 4 --budget 60%
grep -q 'moved .*waited .* ms' "$work/out" && grep -q 'predicted .* %' "$work/out" &&
	grep -q '^a step: .* out, .* in, .* ops run again' "$work/out" && ok "tells prediction and reality" ||
	not_ok "tells prediction and reality"

# FULL=1 STEPS=20: the sizes that a release is measured at (tests/acceptance).
if [ "${FULL:-0}" = 1 ]; then
	budgets lenet5 lenet5 --batch 64 --clip 1
	budgets convnet convnet --batch 64 --clip 1
	budgets resnet18 resnet18:classes=10,input=3x64x64 --batch 8 --clip 1
	budgets gpt2 gpt2:layers=4,width=256,vocab=256 --batch 8 --clip 1
	budgets unet unet:width=32,input=3x96x96 --batch 4 --clip 1
	budgets lstm lstm:width=256,vocab=2000 --batch 20 --clip 1
else
	budgets lenet5 lenet5 --batch 64 --clip 1
	budgets convnet convnet --batch 16 --clip 1
	budgets resnet18 resnet18:classes=10,input=3x32x32 --batch 2 --clip 1
	budgets gpt2 gpt2:layers=2,width=128,context=64,vocab=256 --batch 4 --clip 1
	budgets unet unet:width=8,input=3x40x34 --batch 2 --clip 1
	budgets lstm lstm:width=64,vocab=100,context=12 --batch 4 --clip 1
fi
finish
