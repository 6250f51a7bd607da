#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Traces of other programs: planned, replayed and checked like our own, and what is refused.
. "$(dirname "$0")/lib.bash"

tensors="id,size_bytes,class
w,1048576,weight
x,4096,input
a,2097152,activation
b,2097152,activation
c,2097152,activation
g,1048576,gradient"
kernels="index,name,time_ns,workspace_bytes,inputs,outputs
0,f,2000000,0,w x,a
1,f,2000000,0,a,b
2,f,2000000,4096,b,c
3,r,2000000,0,b c,c
4,r,2000000,0,a c w,g
5,u,1000000,0,g w,w"
pair()
{
	printf '%s\n' "$tensors" >"$work/$1.tensors.csv"
	printf '%s\n' "$kernels" >"$work/$1.kernels.csv"
}
pair x
works "a pair of kernels and tensors is planned" plan "$work/x.kernels.csv" --budget 6MiB --json \
	-o "$work/x.plan" --record "$work/x.trace"
[ "$(field base_iter_ns)" = 11000000 ] && ok "with its times" || not_ok "with its times: $(field base_iter_ns)"
works "and replayed" replay "$work/x.kernels.csv" --budget 6MiB --json
works "a plan of it is sound" check "$work/x.kernels.csv" "$work/x.plan"
works "for the trace that was recorded of it too" check "$work/x.trace" "$work/x.plan"

# Converted there and back: the same ops take the same time with the same memory.
want="ops_ns 11000000 live_peak_bytes 7344128"
for to in y.kernels.csv y.log y.trace; do
	works "to $to" convert "$work/x.kernels.csv" -o "$work/$to" --json
	works "and from it" convert "$work/$to" -o "$work/z.trace" --json
	got="ops_ns $(field ops_ns) live_peak_bytes $(field live_peak_bytes)"
	[ "$got" = "$want" ] && ok "$to keeps times and memory" || not_ok "$to: $got, not $want"
	works "$to is planned as it is" plan "$work/$to" --budget 6MiB --json
done
cmp -s "$work/x.kernels.csv" "$work/y.kernels.csv" && cmp -s "$work/x.tensors.csv" "$work/y.tensors.csv" &&
	ok "the pair is the same, byte for byte" || not_ok "the pair is the same, byte for byte"
works "to a table of buffers" convert "$work/y.trace" -o "$work/y.csv"
works "that is placed" place "$work/y.csv" --json
[ "$(field load_bytes)" = 7344128 ] && ok "with the same load" || not_ok "with the same load: $(field load_bytes)"
works "and read as a trace" convert "$work/y.csv" --to trace
grep -q '^trace 1' "$work/out" && ok "on standard output" || not_ok "on standard output"
refuses 2 "no trace is of kind 'elf'" "a kind that is none" convert "$work/y.trace" --to elf
refuses 2 "two files; give -o" "a pair on standard output" convert "$work/y.trace" --to g10
refuses 4 "y.log:1: this is no trace" "a log called a trace" convert "$work/y.log" --from trace
sed -i '3s/MEMORY"/MEMRY"/' "$work/y.log"
refuses 4 "y.log:3: MEMORY is to follow" "a log with a wrong line" plan "$work/y.log" --budget 6MiB

# What takes no time is no slower than itself.
echo '{"INSTRUCTION": "ANNOTATE", "ANNOTATION": "START"}' >"$work/none.log"
printf '%s\n' "trace 1" "job 0 name=still iterations=0" >"$work/still.trace"
for still in none.log still.trace; do
	works "$still is planned" plan "$work/$still" --policy all --html "$work/none.html"
	grep -q -e '-100' -e nan "$work/out" "$work/none.html" && not_ok "without garbage" || ok "without garbage"
	works "at all budgets" plan "$work/$still" --pareto --policy all
	grep -q nan "$work/out" && not_ok "without garbage" || ok "without garbage"
	works "and replayed" replay "$work/$still" --json
	[ "$(field eor)" = 0 ] && ok "with no time lost" || not_ok "with no time lost: $(field eor)"
done

cp "$work/x.kernels.csv" "$work/alone.kernels.csv"
refuses 4 "alone.tensors.csv: cannot open" "kernels without their tensors" plan "$work/alone.kernels.csv" --budget 6MiB
cp "$work/x.kernels.csv" "$work/other.csv"
refuses 4 "is two files, X.kernels.csv and X.tensors.csv" "kernels of another name" plan "$work/other.csv" --budget 6MiB
sed -i 's/^4,r,2000000/4,r,2e6/' "$work/x.kernels.csv"
refuses 4 "kernels.csv:6: time_ns '2e6' is not a whole number" "a time that is none" plan "$work/x.kernels.csv" --budget 6MiB
sed -i 's/^g,1048576/g,0/' "$work/x.tensors.csv"
refuses 4 "tensors.csv:7: tensor g has no bytes" "a tensor of nothing" replay "$work/x.kernels.csv"
finish
