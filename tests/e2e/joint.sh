#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two trainings that swap, in two lanes of one daemon: it plans for both together when the second one joins and when
# one leaves, they take the plans at a boundary, and end with the bits they have alone.
. "$(dirname "$0")/lib.bash"
sluiced=${SLUICED:-$(dirname "$sluice")/sluiced}
socket=$work/d.sock
daemon=
trap '[ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null; rm -rf "$work"' EXIT

net="convnet:input=3x32x32 --batch 16 --steps ${STEPS:-250} --seed 3 --budget 50% --threads 1"
gpt="gpt2:layers=2,width=64,heads=2,context=32,vocab=256 --batch 8 --steps ${STEPS:-1000} --seed 4"
gpt="$gpt --budget 50% --threads 1"

# launch NAME OPTIONS...: in the background; $! is it.
launch()
{
	name=$1
	shift
	"$sluice" train "$@" --shared --socket "$socket" --name "$name" --json \
		>"$work/$name.out" 2>"$work/$name.err" </dev/null &
}

# ended PID NAME
ended()
{
	wait "$1"
	code=$?
	cp "$work/$2.err" "$work/err"
	if [ "$code" = 0 ] && [ "$(field digest "$work/$2.out")" = "$(field digest "$work/$2.alone")" ]; then
		ok "$2 ends as it does alone"
	else
		not_ok "$2 ends as it does alone (exit $code)"
	fi
	taken=$(field joint_plans "$work/$2.out")
	if [ "${taken:-0}" -ge 1 ]; then
		ok "$2 took $taken plans made for both"
	else
		grep joint "$work/daemon.log" >>"$work/err"
		not_ok "$2 took a plan made for both"
	fi
}

# shellcheck disable=SC2086
{
works "net alone" train $net --json
cp "$work/out" "$work/net.alone"
works "gpt alone" train $gpt --json
cp "$work/out" "$work/gpt.alone"
"$sluiced" --socket "$socket" --budget 256MiB --policy pack --lanes 2 >"$work/daemon.log" 2>&1 &
daemon=$!
until [ -S "$socket" ] || ! kill -0 "$daemon" 2>/dev/null; do sleep 0.02; done
launch net $net
a=$!
until grep -q '"step":1,' "$work/net.out" 2>/dev/null || ! kill -0 $a 2>/dev/null; do sleep 0.01; done
! grep -q joint_begins "$work/daemon.log" && ok "a job alone is left to itself" || not_ok "a job alone is left to itself"
launch gpt $gpt
b=$!
ended $a net
ended $b gpt
}
for lane in 0 1; do
	cat "$work/net.out" "$work/gpt.out" | grep '"summary"' | grep -q "\"lane\":$lane," && ok "one was in lane $lane" ||
		not_ok "one was in lane $lane"
done
! grep -q joint_fails "$work/daemon.log" && ok "every plan could be made" || not_ok "every plan could be made"
kill "$daemon"
wait "$daemon"
code=$?
[ "$code" = 0 ] && ok "the daemon ends" || not_ok "the daemon ends (exit $code)"
daemon=
finish
