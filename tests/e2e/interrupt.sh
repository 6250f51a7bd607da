#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT in the middle: the step ends, the checkpoint is written, exit 130, resuming gives the same bits.
. "$(dirname "$0")/lib.bash"

opts="lenet5 --batch 32 --seed 5"
works "the uninterrupted run" train $opts --steps 60 --json
want=$(field digest)

"$sluice" train $opts --steps 60 --save "$work/c.safetensors" --json >"$work/out" 2>"$work/err" &
pid=$!
until grep -q '"step":5,' "$work/out"; do :; done
kill -INT $pid
wait $pid
code=$?
done_steps=$(field steps)
if [ "$code" = 130 ] && [ "$done_steps" -lt 60 ]; then
	ok "SIGINT ends the run with 130 after $done_steps steps"
else
	not_ok "SIGINT ends the run (exit $code, $done_steps steps)"
fi
works "resuming" train $opts --steps 60 --resume $work/c.safetensors --json
[ "$(field digest)" = "$want" ] && ok "the resumed run has the same bits" ||
	not_ok "the resumed run has the same bits"

"$sluice" train $opts --steps 60 --json 2>/dev/null | head -n 3 >"$work/out"
[ "$(wc -l <"$work/out")" = 3 ] && ok "a reader that leaves is no crash" || not_ok "a reader that leaves"

finish
