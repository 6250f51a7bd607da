#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Traces and plans as texts: written, proved, refused when harmed, carried out; the peak computed outside.
. "$(dirname "$0")/lib.bash"
tools=$(dirname "$0")/../tools

# round NAME MODEL OPTIONS...
round()
{
	local name=$1 least most peak budget iter
	shift
	run plan "$@" --budget 1GiB --json
	least=$(field least_budget_bytes)
	most=$(field unbudgeted_peak_bytes)
	budget=$(((least + most) / 2 / 4096 * 4096))
	works "$name: plan and trace are written" plan "$@" --budget $budget -o $work/p --record $work/t --json
	peak=$(field peak_bytes)
	works "$name: the plan is proved sound" check $work/t $work/p --budget $budget
	[ "$(python3 "$tools/peak.py" $work/t $work/p | tail -n 1 | grep -o '[0-9]*' | tail -n 1)" = "$peak" ] &&
		ok "$name: an outside script finds the same peak" || not_ok "$name: an outside script and $peak"
	refuses 1 "" "$name: too small a budget for it" check $work/t $work/p --budget $((peak - 4096))
	awk 'done || !/ in v/ {print} / in v/ {done = 1}' $work/p >$work/harmed
	refuses 1 "v[0-9]" "$name: a plan without its first swap-in" check $work/t $work/harmed
	works "$name: the stored plan is carried out" train "$@" --steps 2 --budget $budget --plan $work/p --json
	[ "$(field peak_device_bytes)" = "$peak" ] && ok "$name: and reaches its peak" ||
		not_ok "$name: peak $(field peak_device_bytes), planned $peak"
	works "$name: a trace is planned like its model" plan $work/t --budget $budget --json
	[ "$(field peak_bytes)" = "$peak" ] && ok "$name: with the same peak" || not_ok "$name: with the same peak"
	iter=$(field iter_ns)
	grep -v -e '^tier ' -e '^link ' $work/t >$work/bare
	works "$name: a trace without tiers gets a run's" plan $work/bare --budget $budget --json
	[ "$(field iter_ns)" = "$iter" ] && ok "$name: at the same price" ||
		not_ok "$name: at $(field iter_ns), not $iter"
	works "$name: a row for each policy" plan $work/t --budget $budget --policy all --json
	sed 's/.*"feasible":\([a-z]*\).*"iter_ns":\([0-9]*\),"swap.*/\1 \2/' "$work/out" >"$work/rows"
	[ "$(wc -l <"$work/rows")" = "$("$sluice" list policies --json | wc -l)" ] && awk '
		$1 == "true" && ($2 < last || none) {exit 1} $1 == "false" {none = 1} {last = $2}' "$work/rows" &&
		ok "$name: sorted by time" || not_ok "$name: sorted by time"
	works "$name: a row for each budget" plan $work/t --pareto --json
	sed 's/.*"budget_bytes":\([0-9]*\),"least.*"iter_ns":\([0-9]*\),"swap.*/\1 \2/' "$work/out" >"$work/rows"
	[ "$(wc -l <"$work/rows")" = 11 ] && awk -v least=$least -v peak=$most '
		NR == 1 && $1 != least || NR > 1 && ($1 <= at || $2 > ns) {exit 1} {at = $1; ns = $2}
		END {if (at != peak) exit 1}' "$work/rows" &&
		ok "$name: eleven from the least to the peak, never slower with more" || not_ok "$name: eleven rows"
	works "$name: for people" plan $work/t --pareto
	[ "$(grep -c 'least without slowdown' "$work/out")" = 1 ] && grep -q '^ *[0-9.]* |\*' "$work/out" &&
		ok "$name: with a mark and a curve" || not_ok "$name: with a mark and a curve"
	works "$name: a share of the peak" plan $work/t --budget 60% --json
	[ "$(field budget_bytes)" = $((most * 6 / 10 / 4096 * 4096)) ] && ok "$name: is cut to blocks" ||
		not_ok "$name: 60 % of $most is $(field budget_bytes)"
	works "$name: a sentence" plan $work/t --budget 60%
	grep -q 'holds the step in' "$work/out" && grep -q '^least budget: ' "$work/out" &&
		ok "$name: says what the plan does" || not_ok "$name: says what the plan does"
}

round lenet5 lenet5 --batch 64
round gpt2 gpt2:layers=2,width=128,context=64,vocab=256 --batch 4 --clip 1

# A line that renews itself stays one line.
script -qec "stty cols 60 rows 20; '$sluice' train lenet5 --batch 4 --steps 400" /dev/null </dev/null >"$work/tty" 2>&1
tr '\r' '\n' <"$work/tty" | sed 's/\x1b\[K//' | grep '^step' >"$work/lines"
[ -s "$work/lines" ] && [ -z "$(grep '.\{60\}' "$work/lines")" ] && ok "progress fits into a narrow terminal" ||
	not_ok "progress fits into a narrow terminal"

# What was learnt is used.
images=/usr/share/datasets/fashion-mnist
works "a model is trained" train lenet5 --data idx:$images --batch 64 --steps 30 --save $work/l.safetensors
works "and predicts" infer lenet5 --input $images --resume $work/l.safetensors --batch 100 --json
[ "$(wc -l <"$work/out")" = 10000 ] && ok "each test image" || not_ok "each test image"
right=$(zcat $images/t10k-labels-idx1-ubyte.gz | tail -c +9 | od -An -v -t u1 -w1 | tr -d ' ' |
	paste -d ' ' - <(sed 's/.*"class":\([0-9]*\).*/\1/' "$work/out") | awk '$1 == $2 {n++} END {print n}')
[ "$right" -gt 4000 ] && ok "$right of 10000 right" || not_ok "only $right of 10000 right"
head -c 3000 /usr/share/common-licenses/Apache-2.0 >"$work/letter.txt"
seq 40 | awk '{print $1 "," $1 / 2 "," $1 % 2}' >"$work/rows.csv"
works "a table is learnt" train mlp:sizes=2-8-2 --data csv:$work/rows.csv --batch 8 --steps 20 --save $work/m.safetensors
works "rows are predicted" infer mlp:sizes=2-8-2 --input $work/rows.csv --resume $work/m.safetensors
cut -d ' ' -f 3- "$work/out" >"$work/forth"
tac "$work/rows.csv" >"$work/rev.csv"
works "and backwards" infer mlp:sizes=2-8-2 --input $work/rev.csv --resume $work/m.safetensors
cut -d ' ' -f 3- "$work/out" | tac | cmp -s - "$work/forth" && [ "$(sort -u "$work/forth" | wc -l)" -gt 9 ] &&
	ok "in the file's order" || not_ok "in the file's order"
works "all of a text" infer gpt2:layers=1,width=64,context=64 --input $work/letter.txt
[ "$(wc -l <"$work/out")" = 45 ] && ok "window by window" || not_ok "window by window: $(wc -l <"$work/out")"
works "text inside a budget" infer gpt2:layers=1,width=64,context=64 --input $work/letter.txt --batch 2 --budget 1MiB

for list in models policies job-policies ops devices tiers data messages errors; do works "list $list" list $list; done
works "the manual" help --man
works "completion" help --completion
bash -n "$work/out" && ok "completion is a script" || not_ok "completion is a script"
finish
