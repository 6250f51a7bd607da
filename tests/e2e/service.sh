#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A model that answers requests beside a training, through the daemon.
. "$(dirname "$0")/lib.bash"
sluiced=${SLUICED:-$(dirname "$sluice")/sluiced}
socket=$work/d.sock
trap 'kill -9 $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

"$sluiced" --socket "$socket" --budget 24MiB 2>"$work/daemon.log" &
until [ -S "$socket" ]; do sleep 0.02; done

# asks TEXT PATTERN OPTIONS...: an ask that works and prints the pattern
asks()
{
	text=$1
	pattern=$2
	shift 2
	if "$sluice" ask "$@" --socket "$socket" >"$work/out" 2>"$work/err" && grep -q "$pattern" "$work/out"; then
		ok "$text"
	else
		not_ok "$text"
	fi
}

refuses 4 "no service 'digits'" "a service that is not there is named" \
	ask digits --input synthetic:1x28x28 --socket "$socket"
refuses 2 "leave --name and --input out" "a service has its samples from those who ask" \
	infer lenet5 --serve digits --input x
refuses 2 "or --serve NAME" "an inference needs an input or who asks" infer lenet5 --shared
refuses 2 "for a service" "an objective is for a service" infer lenet5 --within 50ms --input x

"$sluice" infer lenet5 --serve digits --within 100ms --batch 8 --seed 5 --socket "$socket" --json \
	>"$work/served" 2>"$work/serve.err" &
server=$!
until "$sluice" ps --socket "$socket" --json 2>/dev/null | grep -q '"name":"digits"'; do sleep 0.05; done

asks "one request is answered" '^0  class' digits --input synthetic:1x28x28
cp "$work/out" "$work/one"
asks "many at once are, and some of them together" '"answered":300,"refused":0' \
	digits --input synthetic:1x28x28 --count 300 --clients 12 --json
! grep -q late "$work/out" && ok "whose objective is not given counts none late" ||
	not_ok "whose objective is not given counts none late"
if grep -q '"batch":[2-8]' "$work/out"; then ok "requests share batches"; else not_ok "requests share batches"; fi
alone=$(sed -n 's/^0  class \([0-9]*\) .*/\1/p' "$work/one")
if [ "$(grep -c '"index":0,"class":'"$alone"',' "$work/out")" = 1 ]; then
	ok "a request has the same answer alone and among others"
else
	not_ok "a request has the same answer alone and among others"
fi
refuses 2 "756 values is not what the service digits takes" "a sample of the wrong size is refused" ask digits --input synthetic:1x28x27 --socket "$socket"

train="lenet5 --data synthetic:1x28x28 --batch 32 --steps 60 --seed 3 --json"
# shellcheck disable=SC2086
works "a training alone" train $train
want=$(field digest "$work/out")
# shellcheck disable=SC2086
"$sluice" train $train --shared --socket "$socket" >"$work/trained" 2>"$work/train.err" &
trainer=$!
asks "requests are answered beside a training" '"answered":100,"refused":0' \
	digits --input synthetic:1x28x28 --count 100 --clients 4 --quiet --json
wait "$trainer"
if [ "$(field digest "$work/trained")" = "$want" ]; then
	ok "the training's bits are those of running alone"
else
	cp "$work/train.err" "$work/err"
	not_ok "the training's bits are those of running alone"
fi

kill -TERM "$server"
wait "$server"
code=$?
if [ "$code" = 0 ] && grep -q '"requests":402,"refused":1' "$work/served"; then
	ok "the service ends when told to and counts its requests"
else
	cp "$work/served" "$work/err"
	not_ok "the service ends when told to and counts its requests (exit $code)"
fi
if [ -z "$("$sluice" ps --socket "$socket" --json | grep '"name":"digits"')" ]; then
	ok "it is off the list"
else
	not_ok "it is off the list"
fi
finish
