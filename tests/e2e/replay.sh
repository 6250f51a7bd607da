#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Replays in virtual time: equal to the plan's price, jobs that share, pictures, and what is refused.
. "$(dirname "$0")/lib.bash"
model="lenet5 --batch 64"

same()
{
	[ "$2" = "$3" ] && ok "$1" || not_ok "$1: $2 and $3"
}

run plan $model --budget 1GiB --json
least=$(field least_budget_bytes)
peak=$(field unbudgeted_peak_bytes)
budget=$(((least + peak) / 2 / 4096 * 4096))
for duplex in full half; do
	works "$duplex: a plan and its trace" plan $model --budget $budget --duplex $duplex -o $work/p --record $work/t --json
	iter=$(field iter_ns)
	stall=$(field stall_ns)
	works "$duplex: the model is replayed" replay $model --budget $budget --duplex $duplex --json
	same "$duplex: at its price" "$(field iter_ns)" "$iter"
	same "$duplex: with its stall" "$(field stall_ns)" "$stall"
	works "$duplex: so are the files" replay $work/t --plan $work/p --json --trace $work/e.json --timeline $work/l.csv
	same "$duplex: they take as long" "$(field first_iter_ns)" "$iter"
	python3 - "$work" <<'P' && ok "$duplex: pictures agree" || not_ok "$duplex: pictures agree"
import csv, json, sys
work = sys.argv[1]
rows = list(csv.DictReader(open(work + "/l.csv")))
spans = [e for e in json.load(open(work + "/e.json"))["traceEvents"] if e["ph"] == "X"]
assert len(rows) == len(spans) > 0
job = json.loads(open(work + "/out").readlines()[0])
moved = sum(int(r["bytes"]) for r in rows if r["kind"] in ("in", "out"))
assert moved == 3 * (job["swap_in_bytes"] + job["swap_out_bytes"])
assert max(int(r["held_bytes"]) for r in rows) <= job["held_peak_bytes"] <= job["peak_bytes"]
assert max(int(r["end_ns"]) for r in rows) == 3 * job["iter_ns"]
ops = sorted((int(r["begin_ns"]), int(r["end_ns"])) for r in rows if r["kind"] in ("op", "move", "recompute"))
assert all(a[1] <= b[0] for a, b in zip(ops, ops[1:]))
P
done
works "without a budget nothing is paid" replay $model --json
same "no overhead" "$(sed -n 's/.*"eor":\([^,]*\),"cbr":null,"stall.*/\1/p' $work/out)" 0
works "two jobs share" replay $work/t $work/t --budget $budget --phases 0,0.5 --json
[ "$(grep -c '"job"' $work/out)" = 2 ] && ok "a line each" || not_ok "a line each"
cp $work/out $work/shared
works "or have a share of their peaks" replay $work/t $work/t --budget 70% --json
same "each its own" "$(field budget_bytes)" $((peak * 7 / 10 / 4096 * 4096))
works "together too" replay $work/t $work/t --joint --budget 70% --json
same "the sum of them" "$(grep -c "\"budget_bytes\":$((peak * 7 / 10 / 4096 * 4096 * 2))" $work/out)" 1
works "or have a device each" replay $work/t $work/t --plan $work/p --phases 0,0.5 --own-compute --json
[ "$(field end_ns)" -lt "$(field end_ns $work/shared)" ] && ok "and end sooner" || not_ok "and end sooner"
works "text for people" replay $work/t $work/t --budget $budget --iterations 2
grep -q 'link device and disk' $work/out && ok "names the link" || not_ok "names the link"

total=$((budget + peak))
for more in "" --own-compute; do
	works "planned together $more" replay $work/t $model --joint --budget $total --phases 0,0.5 $more --json
	python3 - "$work/out" $total <<'P' && ok "within the budget for both $more" || not_ok "within the budget for both $more"
import json, sys
*jobs, last = [json.loads(line) for line in open(sys.argv[1])]
assert len(jobs) == 2 and last["summary"]["budget_bytes"] == int(sys.argv[2])
assert all(0 < j["held_peak_bytes"] <= j["peak_bytes"] <= j["budget_bytes"] for j in jobs)
assert sum(j["budget_bytes"] for j in jobs) <= int(sys.argv[2])
assert last["summary"]["held_peak_bytes"] <= int(sys.argv[2])
P
done
works "text for people, too" replay $work/t $work/t --joint --budget $total
grep -q 'for all: .*/t ' $work/out && ok "says who got what" || not_ok "says who got what"
refuses 3 "2 jobs together need" "too little for both" replay $work/t $work/t --joint --budget $least
refuses 2 "budget" "nothing to split" replay $work/t $work/t --joint
refuses 2 "plan" "a stored plan and a joint one" replay $work/t --joint --budget $total --plan $work/p

refuses 2 "operand" "no job" replay
refuses 4 "nothing/here" "no such trace" replay nothing/here
refuses 4 "" "no trace" replay $work/p
refuses 4 "" "no plan" replay $work/t --plan $work/t
refuses 4 "re-plan" "a plan over the budget" replay $work/t --plan $work/p --budget 64KiB
refuses 3 "" "too small a budget" replay $work/t --budget 64KiB
refuses 2 "policy" "no such policy" replay $work/t --policy nonesuch --budget $budget
refuses 2 "phases" "phases of other jobs" replay $work/t --phases 0,1
refuses 2 "phases" "a phase that is no number" replay $work/t --phases soon
refuses 2 "plan" "plans of other jobs" replay $work/t $work/t $work/t --plan $work/p,$work/p
refuses 2 "duplex" "no such duplex" replay $work/t --duplex both
refuses 2 "iterations" "no iterations" replay $work/t --iterations 0
refuses 6 "" "a picture nowhere" replay $work/t --trace $work/none/there.json
finish
