#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Looking at a daemon and ruling it from the command line, with jobs that another program made up.
. "$(dirname "$0")/lib.bash"
tools=$(dirname "$0")/../tools
daemon=$(dirname "$sluice")/sluiced
export SLUICE_SOCKET=$work/daemon.sock
unset XDG_RUNTIME_DIR

pids=()
trap 'kill "${pids[@]}" 2>/dev/null; chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT

# wait_for TEXT FILE
wait_for()
{
	for _ in $(seq 400); do
		grep -q -e "$1" "$2" 2>/dev/null && return 0
		sleep 0.05
	done
	not_ok "waited for '$1' in vain"
	return 1
}

# says TEXT NAME: the last command's output has it.
says()
{
	grep -q -e "$1" "$work/out" && ok "$2" || not_ok "$2 (wanted '$1')"
}

# job NAME P E: its number in $id.
job()
{
	python3 "$tools/talk.py" "$SLUICE_SOCKET" job "$1" "$2" "$3" >"$work/$1" 2>&1 &
	pids+=($!)
	wait_for registered "$work/$1"
	id=$(sed -n 's/registered //p' "$work/$1")
}

for command in "ps" "top --once" "explain 1" "pause 1" "resume 1" "cancel 1" "priority 1 2" "limit 0 none" \
	"policy" "events" "config" "doctor"; do
	refuses 5 "sluiced --budget" "$command without a daemon" $command
done
refuses 2 "longer than" "a path that no socket has" ps --socket "$(printf 'x%.0s' $(seq 200))"

group=()
[ "$(id -u)" = 0 ] && getent group nogroup >/dev/null && group=(--group nogroup)
"$daemon" --budget 300MiB --turn-timeout 1h --log "$work/log" "${group[@]}" >"$work/daemon" 2>&1 &
pids+=($!)
first=$!
until [ -S "$SLUICE_SOCKET" ] || ! kill -0 $first 2>/dev/null; do sleep 0.02; done

works "ps of nobody" ps
[ "$(tr -s ' ' <"$work/out" | sed 's/^ //')" = "ID NAME USER STATE POLICY-KEY RESIDENT SWAPPED PEAK ITER it/s SHARE WAITED REASON" ] &&
	ok "has its columns" || not_ok "has its columns"
job gpt 40 60 && gpt=$id
job net 60 80 && net=$id
wait_for admitted "$work/gpt"
works "ps" ps
says "^ *$gpt  *gpt  *[^ ]*  *running" "a job runs"
says "100.00 MiB" "with its peak"
job big 250 30 && big=$id
works "ps --json" ps --json
python3 - "$work/out" "$gpt" "$big" <<'E2' && ok "an object a job, then the sum" || not_ok "an object a job, then the sum"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
jobs = {job["id"]: job for job in lines[:-1]}
want = "id state user policy_key resident_bytes swapped_bytes peak_bytes iter_per_s waited_s reason schema".split()
assert all(key in job for job in jobs.values() for key in want)
assert all(job["schema"] == 1 for job in jobs.values())
gpt, big = jobs[int(sys.argv[2])], jobs[int(sys.argv[3])]
assert gpt["state"] == "running" and gpt["resident_bytes"] == 40 << 20 and gpt["peak_bytes"] == 100 << 20
assert gpt["name"] == "gpt" and gpt["lane"] == 0
assert big["state"] == "waiting" and big["reason"] and big["lane"] == -1 and big["waited_s"] >= 0
total = lines[-1]["summary"]
assert total["capacity_bytes"] == 300 << 20 and total["jobs"] == 3 and total["schema"] == 1
assert total["granted_bytes"] >= 100 << 20
E2
works "explain" explain "$big"
says "^job $big (big, 280.00 MiB) waits: needs 280.00 MiB" "begins with the reason"
says "280.00 MiB" "says what it needs"
says "job $gpt" "and who is in the way"
works "explain --json" explain "$big" --json
says '"id":'"$big"',"text":"job' "says it too"

works "top once" top --once
says "device  \[.*$((gpt % 10)).*A.*\]" "draws the device"
says "lane A .*MiB" "its lanes"
says "big .*waiting" "its jobs"
[ "$(grep -c "$(printf '\033')" "$work/out")" = 0 ] && ok "no sequences in a pipe" || not_ok "no sequences in a pipe"
works "top --json" top --once --json
[ "$(grep -c '^{"lane":' "$work/out")-$(grep -c '^{"job":' "$work/out")-$(grep -c '^{"summary":' "$work/out")" = 1-3-1 ] &&
	ok "lanes, jobs, the sum" || not_ok "lanes, jobs, the sum"
timeout -s INT 2 "$sluice" top --watch 0.1 >"$work/out" 2>"$work/err"
[ "$(grep -c '^sluice top' "$work/out")" -ge 3 ] && ok "plain blocks for a pipe" || not_ok "plain blocks for a pipe"
python3 "$tools/top_keys.py" "$sluice" "$SLUICE_SOCKET" >"$work/out" 2>"$work/err"
grep -q '^FAILED' "$work/out" && sed 's/^/    /' "$work/out"
tail -n 1 "$work/out" | grep -q ' 0 failed' && ok "top in a terminal" || not_ok "top in a terminal"

works "pause" pause "$net"
says "job $net: paused" "says so"
works "pause shows" ps
says "^ *$net .*paused" "in the list"
works "resume" resume "$net"
works "priority" priority "$net" -5
works "priority shows" ps --json
says '"id":'"$net"',.*"priority":-5' "in the list"
works "cancel" cancel "$big"
wait_for done "$work/big" && grep -q stop "$work/big" && ok "the job was told" || not_ok "the job was told"
works "it is off the list" ps
grep -q "^ *$big " "$work/out" && not_ok "off it" || ok "off it"
works "but not off --all" ps --all
says "^ *$big .*ended .* 0.00 .*cancelled$" "as ended, and how"

works "policy" policy
says '^fair$' "is said"
works "policy srtf" policy srtf --json
says '"policy":"srtf"' "is changed"
refuses 2 "no policy .lifo.; there are fair" "no such policy" policy lifo
works "limit" limit 0 1GiB --json
says '"limit_bytes":1073741824' "is said"
works "no limit" limit root none
refuses 2 "no user" "no such user" limit no-such-user-here 1GiB
refuses 2 "a limit of nothing" "a limit of nothing" limit 0 0
works "config" config
says "budget = 300MiB  # flag" "a flag"
says "policy = .*  # " "a default"
works "config --json" config --json
says '"name":"budget","value":"300MiB","origin":"flag"' "the same"
works "events" events --last 1000
says "^arrive .*job=$gpt " "what happened"
says "^admit .*job=$gpt " "and what was decided"
works "the latest alone" events --last 1
[ "$(wc -l <"$work/out")" = 1 ] && ok "is a line" || not_ok "is a line"
works "events --json" events --last 2 --json
tail -n 1 "$work/out" | grep -q '"summary":{"schema":1,"lines":2}' && ok "two and the sum" || not_ok "two and the sum"
"$sluice" events --last 1 --follow >"$work/follow" 2>&1 &
follow=$!
wait_for . "$work/follow"
works "something happens" pause "$net"
wait_for "hold .*job=$net" "$work/follow" && ok "whoever follows sees it"
kill -INT $follow
wait $follow
[ $? = 130 ] && ok "and is interrupted" || not_ok "and is interrupted"
works "doctor" doctor
says "^ok *daemon *answers" "finds it well"
works "doctor --json" doctor --json
says '"failures":0' "counts"

refuses 4 "no job" "a job that is not" explain 999
refuses 4 "no job" "nor to pause" pause 999
refuses 2 "not a job's number" "no number" cancel gpt
refuses 2 "operand is missing" "no job" explain
refuses 2 "not a priority" "no priority" priority 1 high
python3 "$tools/talk.py" "$SLUICE_SOCKET" job "$(printf 'a\033[2Jb')" 1 1 >"$work/out" 2>&1
says "^error" "a name that moves the cursor"

# 4 GiB in a head; a number that is none; another version; each by itself.
timeout 20 python3 "$tools/talk.py" "$SLUICE_SOCKET" raw ffffffff010001000100000000000000 >"$work/out" 2>&1
says "4294967311 bytes is above" "4 GiB are refused by the head"
timeout 20 python3 "$tools/talk.py" "$SLUICE_SOCKET" raw 00000000010009000700000000000000 >"$work/out" 2>&1
says "version" "another version is told"
works "the others are undisturbed" ps
says "^ *$gpt .*running" "as ever"

# Another user of the daemon's group looks, and rules nothing; one of no group does not even look.
other()
{
	local group=$1
	shift
	setpriv --reuid=65534 --regid="$group" --clear-groups "$(realpath "$sluice")" "$@" >"$work/out" 2>"$work/err"
	code=$?
}
refused_to_other()
{
	other 65534 "$@"
	[ "$code" = 1 ] && grep -q "another user's\|owner" "$work/err" && ok "another user may not $1" || not_ok "another user may not $1 (exit $code)"
}
chmod 711 "$work"
if [ "$(id -u)" = 0 ] && getent group nogroup >/dev/null && setpriv --reuid=65534 --regid=65534 --clear-groups \
	"$(realpath "$sluice")" --version >/dev/null 2>&1; then
	other 65534 ps
	[ "$code" = 0 ] && ok "another user of the group looks" || not_ok "another user of the group looks"
	says "^ *$gpt .*running" "and sees the jobs"
	for command in "pause $gpt" "resume $gpt" "cancel $gpt" "priority $gpt 1" "limit 0 1MiB" "limit 65534 none" "policy fifo"; do
		refused_to_other $command
	done
	other 65534 doctor
	says "rights .*your own jobs" "doctor says so"
	other 1 ps
	[ "$code" = 5 ] && grep -q "may not use" "$work/err" && ok "a stranger is told why" || not_ok "a stranger is told why"
	works "nothing was changed" policy
	says '^srtf$' "by them"
fi

cp "$work/log" "$work/whole"
python3 "$tools/top_keys.py" "$sluice" "$SLUICE_SOCKET" $first "$daemon" --budget 300MiB --grace 1s >"$work/out" 2>"$work/err"
grep -q '^FAILED' "$work/out" && sed 's/^/    /' "$work/out"
tail -n 1 "$work/out" | grep -q ' 0 failed' && ok "top outlives the daemon" || not_ok "top outlives the daemon"
wait $first
refuses 5 "no daemon answers" "the daemon ended" ps
works "its log decides again" sim --decisions "$work/whole"
finish
