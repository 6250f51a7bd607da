#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs in virtual time from the command line: figures, tables, logs decided again, refusals.
. "$(dirname "$0")/lib.bash"

t=$work/jobs.csv
small=tests/corpus/jobs/small.csv

# By hand: long 0..10 s, short from 1.5 s (2 s of service), big from 2 s (3 s), urgent from 3 s (1 s).
expect()
{
	local policy=$1 want=$2
	works "$policy" sim $small --capacity 16MiB --policy "$policy" -o "$work/o.csv" --timeline "$work/t.csv" \
		--svg "$work/p.svg" --record "$work/log" --json
	[ "$(cut -d, -f1,3,4,6 "$work/o.csv" | tail -n +2 | sed 's/000000//g' | tr '\n' ' ')" = "$want" ] &&
		ok "$policy starts and ends as by hand" || not_ok "$policy starts and ends as by hand: $(cut -d, -f1,3,4,6 "$work/o.csv" | tr '\n' ' ')"
	# Every figure again from the tables: service of a job, shares of a moment, means.
	python3 - "$work/o.csv" "$work/t.csv" "$(field mean_jct_min)" "$(field makespan_min)" <<'E2' &&
import csv, sys
jobs = list(csv.DictReader(open(sys.argv[1])))
spans = list(csv.DictReader(open(sys.argv[2])))
had = {j["job_id"]: 0 for j in jobs}
for s in spans:
    had[s["job_id"]] += float(s["share"]) * (float(s["end_s"]) - float(s["start_s"]))
for j in jobs:
    assert abs(had[j["job_id"]] - float(j["attained_s"])) < 1e-6, j
for at in {float(s["start_s"]) for s in spans}:
    assert sum(float(s["share"]) for s in spans if float(s["start_s"]) <= at < float(s["end_s"])) <= 1
jct = sum(float(j["end_s"]) - float(j["submit_s"]) for j in jobs) / len(jobs) / 60
assert abs(jct - float(sys.argv[3])) < 1e-6
assert abs(max(float(j["end_s"]) for j in jobs) / 60 - float(sys.argv[4])) < 1e-6
E2
		ok "$policy: its tables give its figures" || not_ok "$policy: its tables give its figures"
	works "$policy decides its log again" sim --decisions "$work/log" --json
	[ "$(field same)" = true ] && ok "line for line" || not_ok "line for line"
	python3 -c 'import sys, xml.etree.ElementTree as x
sys.exit(len(x.parse(sys.argv[1]).getroot().findall("{*}g")) != 4)' "$work/p.svg" &&
		ok "the picture is XML with a row a job" || not_ok "the picture is XML with a row a job"
}
expect fifo "long,0.000,11.000,0 short,11.000,13.000,0 big,13.000,16.000,0 urgent,3.000,4.000,0 "
expect srtf "long,0.000,16.000,0 short,2.000,5.000,0 big,5.000,8.000,0 urgent,3.000,4.000,0 "
expect fair "long,0.000,16.000,0 short,1.500,8.250,0 big,2.000,10.750,0 urgent,3.000,4.000,0 "

works "all policies" sim $small --capacity 16MiB
[ "$(wc -l <"$work/out")" = 7 ] && ok "make a table" || not_ok "make a table"
works "as JSON" sim $small --capacity 16MiB --json
[ "$(grep -c '"policy":{' "$work/out")" = 5 ] && tail -n 1 "$work/out" | grep -q '^{"summary"' &&
	ok "a line each, and the sum" || not_ok "a line each, and the sum"
works "a table on standard output" sim $small --capacity 16MiB --policy rr -o -
[ "$(wc -l <"$work/out")" = 5 ] && ok "stands there alone" || not_ok "stands there alone"

salus=../shared/data/jobs/salus100.csv
if [ -e $salus ]; then
	works "the published trace" sim $salus --capacity 14GiB --json
	for row in fifo:170.54 srtf:49.97 pack:139.51 fair:115.71; do
		got=$(grep "\"policy\":\"${row%:*}\"" "$work/out" | sed 's/.*"mean_jct_min":\([0-9.]*\).*/\1/')
		awk -v a="$got" -v b="${row#*:}" 'BEGIN {exit !(a - b < 0.0051 && b - a < 0.0051)}' &&
			ok "${row%:*} as published" || not_ok "${row%:*} as published: $got"
	done
fi
philly=../shared/data/jobs/philly-1gpu-4weeks.csv
if [ -e $philly ]; then
	works "6,500 jobs" sim $philly --policy fair
	grep -q "every job takes 0 bytes" "$work/err" && ok "without sizes, and it says so" || not_ok "and says so"
fi

works "residents move away" sim $small --capacity 9MiB --policy fair --quantum 1 --park-rate 1GB/s --record "$work/log" --json
[ "$(field parks)" -gt 0 ] && ok "they do" || not_ok "they do"
works "its log again" sim --decisions "$work/log" --json
[ "$(field same)" = true ] && ok "line for line, with moves" || not_ok "line for line, with moves"

# An adversarial stream: the long job waits no longer than the bound, and without it for ever.
awk 'BEGIN {print "job_id,submit_s,duration_s,ms_per_iteration"; print "long,1,50,1000"
	for (i = 0; i < 300; i++) printf "s%d,%d,10,1000\n", i, 10 * i}' >"$t"
works "an adversarial stream" sim "$t" --policy srtf --max-wait 100 -o "$work/o.csv"
awk -F, '$1 == "long" {exit !($4 - 1 - 50 <= 100 + 10)}' "$work/o.csv" && ok "the bound holds" || not_ok "the bound holds"
works "without a bound" sim "$t" --policy srtf --max-wait 0 -o "$work/o.csv"
awk -F, '$1 == "long" {exit !($3 > 2900)}' "$work/o.csv" && ok "it starves" || not_ok "it starves"

bad()
{
	printf '%b' "$2" >"$t"
	refuses 4 "$3" "$1" sim "$t" --capacity 1GiB
}
bad "an empty table" '' ':0: the file is empty'
bad "no column of times" 'a,b\n1,2\n' ':1: no column is called submit_s'
bad "no lengths" 'submit_s,iterations\n1,2\n' ':1: no column is called duration_s'
bad "a column twice" 'submit_s,submit_s,duration_s\n' ':1: two columns'
bad "too few fields" 'submit_s,duration_s\n1,2\n3\n' ':3: 1 fields'
bad "a negative time" 'submit_s,duration_s\n-1,2\n' ":2: submit_s '-1'"
bad "not a number" 'submit_s,duration_s\n1,nan\n' ":2: duration_s 'nan'"
bad "a hexadecimal number" 'submit_s,duration_s\n1,0x10\n' ":2: duration_s"
bad "no length" 'submit_s,duration_s\n1,\n' ':2: the job has no length'
bad "too long" 'submit_s,iterations,ms_per_iteration\n1,1e15,1e9\n' ':2: iterations x ms'
bad "half an iteration" 'submit_s,iterations,ms_per_iteration\n1,1.5,2\n' ':2: iterations is no whole'
bad "an id twice" 'submit_s,duration_s,job_id\n1,2,a\n1,2,a\n' ":3: the job_id 'a' is taken by line 2"
bad "quotes" 'submit_s,duration_s,job_id\n1,2,"a"\n' ':2: quotes'
bad "too large" 'submit_s,duration_s,persistent_mb\n1,2,1e30\n' ':2: persistent_mb'
head -c 100000 /dev/urandom >"$t"
refuses 4 "" "noise" sim "$t" --capacity 1GiB
printf 'submit_s,duration_s,job_id\n1,2,<a&b>\n' >"$t"
works "a hostile name" sim "$t" --policy fair --svg "$work/h.svg"
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$work/h.svg" && ok "is escaped" || not_ok "is escaped"
printf 'submit_s,duration_s\n' >"$t"
works "no jobs" sim "$t"

refuses 3 "'big' (line 4).*--capacity" "a job above the capacity" sim $small --capacity 8MiB
refuses 2 "capacity" "no capacity" sim $small
refuses 2 "unknown" "an unknown policy" sim $small --capacity 16MiB --policy lifo
refuses 2 "name it" "files of all policies" sim $small --capacity 16MiB -o "$work/x.csv"
refuses 2 "alone" "two things on standard output" sim $small --capacity 16MiB --policy fair -o - --json
refuses 2 "table of jobs" "nothing to do" sim
refuses 2 "table of jobs" "both" sim $small --decisions "$work/log"
refuses 4 "none.csv" "a missing file" sim "$work/none.csv" --capacity 1GiB
refuses 6 "" "a folder that is not there" sim $small --capacity 16MiB --policy fair -o "$work/no/o.csv"
works "a log" sim $small --capacity 16MiB --policy srtf --record "$work/log"
sed -i '0,/^run.*job=1/s/^run\(.*\)job=1/run\1job=0/' "$work/log"
refuses 1 "step" "a log that was changed" sim --decisions "$work/log"
refuses 4 "decisions 1" "a log that is none" sim --decisions $small

finish
