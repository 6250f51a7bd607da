#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every bit is the same inside a budget: models x policies x budgets down to the least; below it, exit 3.
# What plans promise is measured too: peaks, virtual time, the least budget against the trace's own text.
. "$(dirname "$0")/lib.bash"
tools=$(dirname "$0")/../tools
policies="tensile belady capuchin vdnn"

# within NAME VALUE MOST LEAST
within()
{
	if [ "${2:-0}" -le "$3" ] && [ "${2:-0}" -ge "$4" ]; then
		ok "$1 ($2 in $4 .. $3)"
	else
		not_ok "$1: $2 is not in $4 .. $3"
	fi
}

# model NAME MODEL OPTIONS...: the model of what follows. B* is its largest working set and little more; a
# run without a budget takes the most live bytes of the trace and little more.
model()
{
	name=$1
	shift
	what=("$@")
	run plan "${what[@]}" --policy keep --record "$work/t" --json
	peak=$(field peak_bytes)
	least=$(field bound_budget_bytes)
	local working immovable live op
	eval "$(python3 "$tools/working_set.py" "$work/t")"
	within "$name: least budget against op $op's working set" "$least" \
		$(((working + 65536) * 105 / 100)) $((working + immovable))
	within "$name: peak against live bytes" "$peak" $((live * 103 / 100)) $live
	most=$((live * 103 / 100))
}

# budget_at SHARE: so many % of the peak, or the least budget where that is more; 0 is the least.
budget_at()
{
	budget=$((peak * $1 / 100 / 4096 * 4096))
	[ $budget -ge "$least" ] || budget=$least
}

# verdict LABEL MOVES: of the run in $work/out. Where less than 70 % is there, something has to move.
recomputing=0
verdict()
{
	local got predicted moved again
	got=$(field peak_device_bytes)
	predicted=$(field predicted_peak_bytes)
	again=$(field recompute_ops)
	moved=$(($(field swap_in_bytes) + again))
	[ "${again:-0}" = 0 ] || recomputing=$((recomputing + 1))
	if [ $code != 0 ]; then
		not_ok "$1 (exit $code)"
	elif [ "$got" != "$predicted" ] || [ "$got" -gt $budget ]; then
		not_ok "$1: peak $got, predicted $predicted, budget $budget"
	elif [ "$(field unbudgeted_peak_bytes)" -gt $most ]; then
		not_ok "$1: peak without a budget $(field unbudgeted_peak_bytes), allowed $most"
	elif [ $moved -lt "$2" ]; then
		not_ok "$1: nothing moved"
	else
		ok "$1 ($budget bytes, $(field swap_in_bytes) in, $again ops again)"
	fi
}

# at POLICY SHARE...: bit by bit.
at()
{
	local policy=$1 share before=0
	shift
	for share in "$@"; do
		budget_at "$share"
		[ $budget != $before ] || continue
		before=$budget
		run verify "${what[@]}" --steps $steps --policy "$policy" --budget $budget --json
		verdict "$name, $policy at $share %" $((budget < peak * 7 / 10))
	done
}

# virtual POLICY SHARE: the plan's text has the peak a script finds, and a run in virtual time its price.
virtual()
{
	local iter want got
	budget_at "$2"
	run plan "${what[@]}" --policy "$1" --budget $budget -o "$work/p" --record "$work/t" --json
	iter=$(field iter_ns)
	want=$(field peak_bytes)
	got=$(python3 "$tools/peak.py" "$work/t" "$work/p" live)
	[ "${got% *}" = "$want" ] && ok "$name, $1 at $2 %: plan's peak $want, of these ${got#* } live" ||
		not_ok "$name, $1 at $2 %: plan's peak $want, a script's $got"
	run train "${what[@]}" --device sim --steps 2 --policy "$1" --budget $budget --json
	[ "$(field peak_device_bytes)" = "$want" ] && ok "$name, $1 at $2 %: and in virtual time" ||
		not_ok "$name, $1 at $2 %: planned peak $want, in virtual time $(field peak_device_bytes)"
	python3 -c "import sys; sys.exit(not abs($(field iter_ms_median) * 1e6 / $iter - 1) <= 0.02)" &&
		ok "$name, $1 at $2 %: $iter ns as planned" ||
		not_ok "$name, $1 at $2 %: planned $iter ns, took $(field iter_ms_median) ms"
}

# Below the least budget no op runs.
below()
{
	refuses 3 "op .*needs" "$name one block below the least" train "${what[@]}" --steps 1 \
		--budget $((least - 4096)) --json
	grep -q '"step"' "$work/out" && not_ok "$name: a step ran before that"
}

# all MODEL...: the whole grid.
all()
{
	local policy
	model "$@"
	below
	for policy in $policies; do
		at $policy 100 75 50 35 0
		virtual $policy 50
	done
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

steps=${STEPS:-3}
# FULL=1: the sizes that a release is measured at (make check-acceptance).
if [ "${FULL:-0}" = 1 ]; then
	all lenet5 lenet5 --batch 64 --clip 1
	all convnet convnet --batch 64 --clip 1
	all gpt2 gpt2:layers=4,width=256,vocab=256 --batch 8 --clip 1
	all unet unet:width=32,input=3x96x96 --batch 4 --clip 1
	steps=3
	all lstm lstm:width=256,vocab=2000 --batch 20 --clip 1
	all bert-base bert-base:layers=4,width=256,context=128 --batch 4 --clip 1
	all vit-b16 vit-b16:layers=4,width=256 --batch 4 --clip 1
	all mobilenetv2 mobilenetv2:classes=10,input=3x96x96 --batch 8 --clip 1
	all resnet18 resnet18:classes=10,input=3x64x64 --batch 8 --clip 1
	all resnet50 resnet50:classes=10,input=3x64x64 --batch 8
	all inceptionv3 inceptionv3:classes=10,input=3x75x75 --batch 4
	all vgg16 vgg16:classes=10,input=3x32x32 --batch 4 --optim momentum
	all gpt2-bf16 gpt2:layers=4,width=256,vocab=256 --batch 8 --clip 1 --dtype bf16
	all resnet18-bf16 resnet18:classes=10,input=3x64x64 --batch 8 --clip 1 --dtype bf16
	all densenet121 densenet121 --batch 8
else
	# Each policy twice at least; each model at half its peak and at the least budget.
	model lenet5 lenet5 --batch 64 --clip 1
	below
	at tensile 100 75 50 35
	at capuchin 75 0
	at vdnn 50
	virtual capuchin 75
	model convnet convnet --batch 16 --clip 1
	below
	at vdnn 75 50
	at belady 35
	at tensile 0
	virtual vdnn 75
	model gpt2 gpt2:layers=2,width=128,context=64,vocab=256 --batch 4 --clip 1
	below
	at tensile 75 50 35 0
	at capuchin 50
	at belady 0
	virtual tensile 50
	model unet unet:width=8,input=3x40x34 --batch 2 --clip 1
	below
	at tensile 75 35 0
	at capuchin 75 50
	at vdnn 50 0
	virtual tensile 50
	model lstm lstm:width=64,vocab=100,context=12 --batch 4 --clip 1
	below
	at tensile 75 50 35 0
	at capuchin 50
	at belady 35
	virtual capuchin 50
	model bert-base bert-base:layers=2,width=64,vocab=257,context=64 --batch 4 --clip 1
	below
	at tensile 50 0
	at capuchin 50
	model vit-b16 vit-b16:layers=2,width=64,input=3x64x64,classes=10 --batch 4 --clip 1
	below
	at tensile 50 0
	model mobilenetv2 mobilenetv2:classes=10,input=3x32x32 --batch 4 --clip 1
	below
	at tensile 50 0
	model mlp mlp:sizes=96-64-10,dropout=0.3 --batch 24
	below
	at capuchin 50
	at vdnn 0
	model gpt2-bf16 gpt2:layers=2,width=128,context=64,vocab=256 --batch 4 --clip 1 --dtype bf16
	below
	at tensile 75 50 0
	at capuchin 50
	model convnet-bf16 convnet --batch 16 --clip 1 --dtype bf16
	below
	at tensile 50 0
	steps=2
	model resnet18 resnet18:classes=10,input=3x32x32 --batch 2 --clip 1
	below
	at belady 50
	at vdnn 0
	model densenet121 densenet121:classes=10,input=3x32x32 --batch 4
	below
	at tensile 50
	at capuchin 0
	virtual tensile 50
	model resnet50 resnet50:classes=10,input=3x32x32 --batch 2
	below
	at capuchin 50
	at tensile 0
	model inceptionv3 inceptionv3:classes=10,input=3x75x75 --batch 2
	below
	at tensile 50
	at vdnn 0
	# These take too long to run here.
	model inceptionv4 inceptionv4:classes=10,input=3x75x75 --batch 2
	below
	model vgg16 vgg16:classes=10,input=3x32x32 --batch 1 --optim sgd
	below
	model vgg19 vgg19:classes=10,input=3x32x32 --batch 1 --optim sgd
	below
fi
within "runs in which ops ran again" $recomputing 1000 5
finish
