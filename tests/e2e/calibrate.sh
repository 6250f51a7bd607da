#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cost books from the command line: one is measured, read back, changed and refused.
. "$(dirname "$0")/lib.bash"

works "a quick calibration" calibrate --quick -o $work/here.cost --json
[ "$(field rows)" -ge 30 ] && ok "with a row for each of $(field rows) kinds" || not_ok "with $(field rows) rows"
[ "$(grep -c '"predicted_ms"' "$work/out")" = 4 ] && ok "held against four steps" || not_ok "held against four steps"
[ "$(grep -c ^link $work/here.cost)" = 4 ] && ok "with both tiers, both ways" || not_ok "with both tiers"
[ "$(ls "$work" | grep -c here)" = 1 ] && ok "and no other file" || not_ok "and no other file"
works "it plans" plan lenet5 --budget 4MiB --costs $work/here.cost --json
here=$(field base_iter_ns)
[ -n "$here" ] && [ "$here" -gt 0 ] && ok "a step of $here ns" || not_ok "a step of '$here' ns"
run plan lenet5 --budget 4MiB --json
[ "$(field base_iter_ns)" != "$here" ] && ok "another than the default book's" || not_ok "another than the default's"
SLUICE_COSTS=$work/here.cost run plan lenet5 --budget 4MiB --json
[ "$(field base_iter_ns)" = "$here" ] && ok "as by the environment" || not_ok "as by the environment"
works "it trains" train lenet5 --steps 4 --batch 8 --budget 3MiB --costs $work/here.cost --json
digest=$(field digest)
works "the gpu's book trains" train lenet5 --steps 4 --batch 8 --budget 3MiB --costs gpu --json
[ "$(field digest)" = "$digest" ] && ok "to the same bits" || not_ok "to the same bits"
works "books are listed" list costs
grep -q '^gpu ' "$work/out" && ok "gpu among them" || not_ok "gpu among them"
refuses 2 "list costs" "a book that is none" plan lenet5 --costs abacus
refuses 4 "nowhere" "a file that is not there" plan lenet5 --costs /nowhere/x.cost
sed 's/ load=/ lode=/' $work/here.cost >$work/harmed
refuses 4 "harmed:2.*lode" "a file that is harmed" train lenet5 --steps 1 --costs $work/harmed
refuses 6 "/nowhere" "a place that cannot be written to, at once" calibrate --quick -o /nowhere/x.cost
refuses 2 "drift=X" "a drift of nothing" train lenet5 --replan drift=0
finish
