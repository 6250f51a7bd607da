#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What people and files get wrong: a message that says what to do, the right exit code, nothing lost.
. "$(dirname "$0")/lib.bash"

small="lenet5 --batch 8 --steps 3"

# Words on the command line.
refuses 2 "there is no command" "an unknown command" tarin lenet5
refuses 2 "did you mean --budget" "an unknown option names the nearest" train lenet5 --budge 1GiB
refuses 2 "exclude each other" "steps and epochs conflict" train lenet5 --steps 3 --epochs 2
refuses 2 "KiB" "a size in apples" train $small --budget "5 apples"
refuses 2 "" "a negative size" train $small --budget -5
refuses 2 "needs a value" "an option without its value" train lenet5 --steps
refuses 2 "1 or more" "batch 0" train lenet5 --batch 0
refuses 2 "1 or more" "threads -1" train lenet5 --threads -1
refuses 2 "takes no value" "a flag with a value" train $small --eval=yes
refuses 2 "lenet5" "an unknown model lists the models" train lenett5
refuses 2 "" "an unknown model option" train lenet5:colour=red
refuses 2 "heads" "a width not divisible by heads" train gpt2:width=100,heads=3
refuses 2 "adamw" "an unknown optimizer" train $small --optim lion
refuses 2 "policies" "an unknown policy" train $small --budget 8MiB --policy lru
refuses 2 "period" "a step schedule without period" train $small --schedule step
refuses 2 "save" "save-every without save" train $small --save-every 1
refuses 2 "operand" "no model" train
refuses 2 "budget" "tiers without a budget" train $small --host 1MiB

# Files that are missing or hurt.
refuses 4 "dataset-fashion-mnist" "a missing folder of images" train lenet5 --data idx:$work/none
refuses 4 "" "a missing text" train gpt2:layers=1,width=64 --data text:$work/none.txt
refuses 4 "" "a missing checkpoint" train $small --resume $work/none.safetensors
refuses 4 "" "a missing trace" plan $work/none.trace
images=/usr/share/datasets/fashion-mnist
mkdir "$work/idx"
zcat $images/train-images-idx3-ubyte.gz | head -c 100000 >"$work/idx/train-images-idx3-ubyte"
zcat $images/train-labels-idx1-ubyte.gz >"$work/idx/train-labels-idx1-ubyte"
refuses 4 "train-images" "a truncated IDX file" train lenet5 --data idx:$work/idx
zcat $images/train-images-idx3-ubyte.gz >"$work/idx/train-images-idx3-ubyte"
zcat $images/t10k-labels-idx1-ubyte.gz >"$work/idx/train-labels-idx1-ubyte"
refuses 4 "10000" "another number of labels than images" train lenet5 --data idx:$work/idx
printf 'trace 1\nnonsense 3\n' >"$work/bad.trace"
refuses 4 "bad.trace:2" "a malformed trace names its line" plan $work/bad.trace
head -c 4096 /dev/urandom >"$work/noise"
refuses 4 "noise" "noise as a checkpoint" train $small --resume $work/noise
refuses 4 "noise" "noise as a plan" train $small --budget 8MiB --plan $work/noise
refuses 4 "noise" "noise as a csv" train mlp --data csv:$work/noise
: >"$work/empty.txt"
refuses 4 "" "an empty text" train gpt2:layers=1,width=64 --data text:$work/empty.txt

# Budgets.
refuses 3 "op .*needs" "a budget below the least names the binding op" train lenet5 --batch 64 --budget 64KiB
refuses 3 "budget" "plan prints its table and exits 3" plan lenet5 --batch 64 --budget 64KiB
grep -q belady "$work/out" && ok "the table is there" || not_ok "the table is there"

# Folders of the disk tier.
run plan lenet5 --batch 64 --budget 1GiB --json
tight="lenet5 --batch 64 --steps 3 --budget $(field least_budget_bytes)"
refuses 2 "RAM" "tmpfs as the disk tier" train $tight --disk /dev/shm
refuses 4 "" "a disk folder that is not there" train $tight --disk $work/none
refuses 3 "" "no disk tier at all" train $tight --disk none

# Checkpoints: the last good one stays.
works "a checkpoint is written" train $small --save $work/good.safetensors
before=$(sha256sum <"$work/good.safetensors")
refuses 7 "lr" "a loss that is not finite" train lenet5 --batch 8 --steps 50 --optim sgd --lr 1e20 --save $work/good.safetensors
[ "$(sha256sum <"$work/good.safetensors")" = "$before" ] && ok "the checkpoint before it is intact" ||
	not_ok "the checkpoint before it is intact"
refuses 6 "" "a checkpoint in a folder that is not there" train $small --save $work/none/a.safetensors
cp "$work/good.safetensors" "$work/cut.safetensors"
truncate -s -100 "$work/cut.safetensors"
refuses 4 "cut" "a truncated checkpoint" train $small --resume $work/cut.safetensors
cp "$work/good.safetensors" "$work/flip.safetensors"
printf '\377' | dd of="$work/flip.safetensors" bs=1 seek=50000 conv=notrunc status=none
refuses 4 "flip" "a checkpoint with a flipped byte" train $small --resume $work/flip.safetensors
refuses 4 "" "a checkpoint of another model" train mlp --batch 8 --steps 3 --resume $work/good.safetensors

# A full disk, by a limit on file size.
(ulimit -f 64; "$sluice" train $tight >"$work/out" 2>"$work/err")
[ $? = 6 ] && ok "a disk tier that is full" || not_ok "a disk tier that is full"
(ulimit -f 64; "$sluice" train $small --save "$work/good.safetensors" >"$work/out" 2>"$work/err")
[ $? = 6 ] && ok "a full disk under a checkpoint" || not_ok "a full disk under a checkpoint"
[ "$(sha256sum <"$work/good.safetensors")" = "$before" ] && ok "and the old checkpoint is intact" ||
	not_ok "and the old checkpoint is intact"
[ -z "$(find "$work" -maxdepth 1 -name '*.tmp*' -o -maxdepth 1 -name '.*.safetensors*')" ] &&
	ok "no temporary file is left" || not_ok "no temporary file is left"

finish
