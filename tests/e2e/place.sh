#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The address planner from the command line: placed, written, checked, drawn, refused.
. "$(dirname "$0")/lib.bash"

data=tests/corpus/place
t=$work/table.csv

for name in A.1048576 C.1048576 input.12; do
	works "$name is placed" place $data/$name.csv --fast -o "$work/$name.csv" --json
	height=$(field height_bytes)
	[ "$(head -n 1 "$work/$name.csv")" = "id,lower,upper,size,offset" ] &&
		[ "$(cut -d, -f1-4 "$work/$name.csv" | cmp - $data/$name.csv)" = "" ] &&
		ok "the input's columns are kept" || not_ok "the input's columns are kept"
	works "$name is sound" place "$work/$name.csv" --validate --capacity "$height"
	refuses 1 "above the capacity" "one byte less is not" \
		place "$work/$name.csv" --validate --capacity $((height - 1))
	# Pair by pair, by other means.
	awk -F, 'NR > 1 {for (i = 1; i < n + 1; i++)
			if ($2 < u[i] && l[i] < $3 && $5 < o[i] + s[i] && o[i] < $5 + $4) bad++
		n++; l[n] = $2; u[n] = $3; s[n] = $4; o[n] = $5}
		END {exit bad > 0}' "$work/$name.csv" && ok "no pair overlaps" || not_ok "no pair overlaps"
done
works "a capacity at the load" place $data/C.1048576.csv --fast --capacity 1039360
refuses 1 "impossible in 1039359 bytes: 1039360" "a capacity below it" place $data/C.1048576.csv --fast --capacity 1039359
refuses 1 "one may exist" "a capacity that needs an exact search" place $data/A.1048576.csv --fast --capacity 1MiB
run place $data/A.1048576.csv --fast --capacity 1048575 --json
[ "$code" = 1 ] && [ "$(field valid)" = false ] && [ "$(field load_bytes)" = 1048576 ] &&
	ok "JSON is written for a refusal too" || not_ok "JSON is written for a refusal too"

works "twice" place $data/A.1048576.csv --fast -o "$work/again.csv"
cmp -s "$work/again.csv" "$work/A.1048576.csv" && ok "gives the same bytes" || not_ok "gives the same bytes"
works "a table on standard output" place $data/input.12.csv -o -
[ "$(wc -l <"$work/out")" = 6 ] && ok "stands there alone" || not_ok "stands there alone"
works "a picture" place $data/A.1048576.csv --fast --svg "$work/a.svg"
python3 -c 'import sys, xml.etree.ElementTree as x
sys.exit(len(x.parse(sys.argv[1]).getroot().findall("{*}g")) != 154)' "$work/a.svg" &&
	ok "is XML with a box a buffer" || not_ok "is XML with a box a buffer"

printf 'id,lower,upper,size,offset\na,0,5,4,8\nb,4,9,4,\n' >"$t"
works "a fixed offset" place "$t" -o "$work/fixed.csv" --base 6
[ "$(tail -n 2 "$work/fixed.csv" | cut -d, -f5 | tr '\n' ' ')" = "8 12 " ] && ok "is kept, and gone around" ||
	not_ok "is kept, and gone around"
refuses 2 ":2: 'a' is fixed at 8, below --base 9" "a base above it" place "$t" --base 9

printf 'id,lower,upper,size,offset\na,0,5,4,0\nb,4,9,4,3\n' >"$t"
refuses 1 "'a' (line 2.*'b' (line 3" "a clash names both" place "$t" --validate
refuses 1 "fixed 'a'" "a clash of fixed ones" place "$t"
[ ! -e "$work/none.csv" ] && refuses 1 "fixed" "nothing is written then" place "$t" -o "$work/none.csv" &&
	[ ! -e "$work/none.csv" ] && ok "no file" || not_ok "no file"
refuses 4 "none.csv" "a missing file" place "$work/none.csv"
refuses 4 "regular\|folder\|directory" "a folder" place "$work"
printf 'id,lower,upper\n' >"$t"
refuses 4 ":1: no column is called size" "a missing column" place "$t"
printf 'id,lower,upper,size\na,0,5,4\nb,7,6,4\n' >"$t"
refuses 4 ":3: lower 7" "a lifetime backwards" place "$t"
printf 'id,lower,upper,size\n' >"$t"
works "no buffers at all" place "$t" --json
[ "$(field buffers)" = 0 ] && ok "are counted" || not_ok "are counted"
head -c 100000 /dev/urandom >"$t"
refuses 4 "" "noise" place "$t"
refuses 2 "capacity" "a capacity of zero" place $data/input.12.csv --capacity 0
refuses 2 "alone" "two things on standard output" place $data/input.12.csv -o - --json
refuses 6 "" "a folder that is not there" place $data/input.12.csv -o "$work/no/out.csv"
refuses 2 "operand" "no file" place

# Large: the size of the largest public instance.
awk 'BEGIN {print "id,lower,upper,size"; s = 1
	for (i = 0; i < 62185; i++) {s = (s * 16807) % 2147483647; a = s % 60000; s = (s * 16807) % 2147483647
		printf "%d,%d,%d,%d\n", i, a, a + 1 + s % 400, 64 * (1 + s % 777)}}' >"$t"
works "62185 buffers" place "$t" --fast -o "$work/large.csv" --json
works "are placed soundly" place "$work/large.csv" --validate --capacity "$(field height_bytes)"

finish
