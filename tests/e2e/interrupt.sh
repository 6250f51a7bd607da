#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SIGINT in the middle: the step ends, the checkpoint is written, exit 130, resuming gives the same bits.
. "$(dirname "$0")/lib.bash"

opts="lenet5 --batch 32 --seed 5"
# So many steps that the signal comes first on any machine.
"$sluice" train $opts --steps 1000000 --save "$work/c.safetensors" --json >"$work/out" 2>"$work/err" &
pid=$!
until grep -q '"step":5,' "$work/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid
wait $pid
code=$?
done_steps=$(field steps)
if [ "$code" = 130 ] && [ "$done_steps" -ge 5 ]; then
	ok "SIGINT ends the run with 130 after $done_steps steps"
else
	not_ok "SIGINT ends the run (exit $code, $done_steps steps)"
fi
more=$((done_steps + 20))
works "the uninterrupted run" train $opts --steps $more --json
want=$(field digest)
works "resuming" train $opts --steps $more --resume $work/c.safetensors --json
[ "$(field digest)" = "$want" ] && ok "the resumed run has the same bits" ||
	not_ok "the resumed run has the same bits"

"$sluice" train $opts --steps 60 --json 2>/dev/null | head -n 3 >"$work/out"
[ "$(wc -l <"$work/out")" = 3 ] && ok "a reader that leaves is no crash" || not_ok "a reader that leaves"

finish
