#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs that share one device through the daemon, which here has less memory than they want: all end with the bits
# they have alone, whatever happens to one of them or to the daemon.
. "$(dirname "$0")/lib.bash"
sluiced=${SLUICED:-$(dirname "$sluice")/sluiced}
socket=$work/d.sock
steps=${STEPS:-6}
daemon=

# start_daemon OPTIONS...
start_daemon()
{
	rm -f "$socket"
	"$sluiced" --socket "$socket" "$@" >>"$work/daemon.log" 2>&1 &
	daemon=$!
	until [ -S "$socket" ] || ! kill -0 "$daemon" 2>/dev/null; do sleep 0.02; done
}

stop_daemon()
{
	kill "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=
}
trap '[ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null; rm -rf "$work"' EXIT

net="resnet18:classes=10,input=3x32x32 --batch 8 --steps $steps --seed 3"
gpt="gpt2:layers=2,width=128,context=64 --batch 4 --steps $steps --seed 4"
input=$work/input.txt
head -c 20000 /dev/urandom | base64 >"$input"
infer="gpt2:layers=2,width=128,context=64 --input $input --batch 8 --quiet"

# alone NAME OPTIONS...: a run that has the device to itself; its bytes and digest are what is wanted.
alone()
{
	name=$1
	shift
	# shellcheck disable=SC2086
	works "$name alone" train "$@" --json --save "$work/$name.want"
	cp "$work/out" "$work/$name.alone"
}

# launch NAME OPTIONS...: in the background; $! is it.
launch()
{
	name=$1
	shift
	rm -f "$work/$name.save"
	: >"$work/$name.out" # or until_step would find the steps of the one before
	"$sluice" train "$@" --shared --socket "$socket" --name "$name" --json --save "$work/$name.save" \
		>"$work/$name.out" 2>"$work/$name.err" </dev/null &
}

# same NAME TEXT: exit code, digest and saved bytes of a launched job that was waited for.
same()
{
	if [ "$code" = 0 ] && [ "$(field digest "$work/$1.out")" = "$(field digest "$work/$1.alone")" ] &&
		cmp -s "$work/$1.save" "$work/$1.want"; then
		ok "$1 $2"
	else
		cp "$work/$1.err" "$work/err"
		not_ok "$1 $2 (exit $code)"
	fi
}

# ended PID NAME TEXT
ended()
{
	wait "$1"
	code=$?
	same "$2" "$3"
}

# until_step N NAME: the job has done so many steps, or is gone ($! is it).
until_step()
{
	until grep -q "\"step\":$1," "$work/$2.out" 2>/dev/null || ! kill -0 "$3" 2>/dev/null; do sleep 0.01; done
}

# shellcheck disable=SC2086
{
alone net $net
alone gpt $gpt
run infer $infer --json
cp "$work/out" "$work/infer.want"
peaks=$(($(field peak_device_bytes "$work/net.alone") + $(field peak_device_bytes "$work/gpt.alone") + 3000000))

# Two trainings and an inference in 60 % of what they take together.
start_daemon --budget $((peaks * 60 / 100))
launch net $net --allow-slowdown 10000%
a=$!
launch gpt $gpt --allow-slowdown 10000%
b=$!
"$sluice" infer $infer --shared --socket "$socket" --json >"$work/infer.out" 2>"$work/err" </dev/null
code=$?
if [ "$code" = 0 ] && cmp -s "$work/infer.out" "$work/infer.want"; then
	ok "an inference beside them says what it says alone"
else
	not_ok "an inference beside them says what it says alone (exit $code)"
fi
ended $a net "in 60 % of the memory is bit for bit the same"
ended $b gpt "in 60 % of the memory is bit for bit the same"

# One is killed in mid-turn, one is stopped until its turn is taken from it.
launch gpt $gpt
b=$!
launch victim $net
v=$!
until_step 2 victim $v
kill -9 $v
wait $v 2>/dev/null
ended $b gpt "beside one that was killed is bit for bit the same"
stop_daemon

start_daemon --budget $((peaks * 60 / 100)) --turn-timeout 1s
launch victim gpt2:layers=2,width=128,context=64 --batch 4 --steps 100000
v=$!
until_step 2 victim $v
launch gpt $gpt
b=$!
until_step 1 gpt $b
kill -STOP $v
ended $b gpt "beside one that was stopped is bit for bit the same"
kill -CONT $v
sleep 0.1
kill -INT $v 2>/dev/null
wait $v
code=$?
[ "$code" = 5 ] || [ "$code" = 130 ] && ok "the stopped one ends as lost or interrupted ($code)" ||
	not_ok "the stopped one ends as lost or interrupted ($code)"

# One whose reports nobody reads for a while gives its turns to others and loses nothing.
mkfifo "$work/slow"
exec 3<>"$work/slow"
"$sluice" train mlp --data synthetic:64 --batch 4 --steps 1500 --shared --socket "$socket" --json >"$work/slow" \
	2>"$work/err" 3>&- </dev/null &
v=$!
sleep 0.5
launch gpt $gpt
b=$!
ended $b gpt "beside one whose reports are not read is bit for bit the same"
kill -0 $v 2>/dev/null && ok "it waits for its reader" || not_ok "it waits for its reader"
cat <&3 >"$work/slow.out" &
c=$!
wait $v
code=$?
exec 3>&-
kill $c 2>/dev/null
[ "$code" = 0 ] && ok "and goes on to its end" || not_ok "and goes on to its end (exit $code)"

# The daemon is killed under them and started again. On a busy machine a first step of the net takes more than
# twenty times what was planned: the usual turn timeout bears that.
stop_daemon
start_daemon --budget $((peaks * 60 / 100))
launch net $net
a=$!
launch gpt $gpt
b=$!
until_step 1 gpt $b
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start_daemon --budget $((peaks * 60 / 100))
ended $a net "under a daemon that was killed and restarted is bit for bit the same"
ended $b gpt "under a daemon that was killed and restarted is bit for bit the same"
stop_daemon

# What stays of three jobs is one and a half times the device: they are parked in turn.
stay=$(field peak_device_bytes "$work/net.alone")
most=$(field peak_device_bytes "$work/gpt.alone")
[ "$stay" -gt "$most" ] || stay=$most
start_daemon --budget $((stay * 105 / 100)) --quantum 50ms
launch net $net
a=$!
"$sluice" train $net --shared --socket "$socket" --name twin --json >"$work/twin.out" 2>"$work/twin.err" &
c=$!
launch gpt $gpt
b=$!
ended $a net "among jobs that do not fit together is bit for bit the same"
ended $b gpt "among jobs that do not fit together is bit for bit the same"
wait $c
code=$?
[ "$code" = 0 ] && [ "$(field digest "$work/twin.out")" = "$(field digest "$work/net.alone")" ] &&
	ok "its twin too" || not_ok "its twin too (exit $code)"
total=$(($(field parked "$work/net.out") + $(field parked "$work/twin.out") + $(field parked "$work/gpt.out")))
[ "$total" -gt 0 ] && ok "they were parked $total times" || not_ok "somebody was parked"

# Whoever waits may leave.
launch net $net --steps 100000
a=$!
until_step 1 net $a
"$sluice" train $net --shared --socket "$socket" --json >"$work/out" 2>"$work/err" </dev/null &
c=$!
sleep 0.3
kill -INT $c
wait $c
code=$?
[ "$code" = 130 ] && ok "SIGINT leaves the queue" || not_ok "SIGINT leaves the queue (exit $code)"
kill -9 $a
wait $a 2>/dev/null

# A daemon that does not come back is waited for as long as was said.
launch gpt $gpt --steps 100000 --daemon-timeout 1s
a=$!
until_step 1 gpt $a
kill -9 "$daemon"
wait "$daemon" 2>/dev/null
daemon=
wait $a
code=$?
cp "$work/gpt.err" "$work/err"
[ "$code" = 5 ] && grep -q "daemon-timeout" "$work/gpt.err" && ok "a daemon that stays away is a loss" ||
	not_ok "a daemon that stays away is a loss (exit $code)"
}

run train lenet5 --steps 1 --shared --socket "$socket"
[ "$code" = 5 ] && grep -q sluiced "$work/err" && ok "without a daemon it says what to start" ||
	not_ok "without a daemon it says what to start (exit $code)"
refuses 2 "jobs with --shared" "options of shared jobs need --shared" train lenet5 --steps 1 --priority 3
[ -z "$(find /var/tmp -maxdepth 1 -name 'sluice-*scratch*' -newer "$input" 2>/dev/null)" ] && ok "no file is left" ||
	not_ok "no file is left"
finish
