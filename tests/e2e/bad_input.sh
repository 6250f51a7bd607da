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

for share in 0% 101% -5% nan% % 5%% 1e-400%; do
	refuses 2 "share of the unbudgeted peak" "a budget of $share" plan $small --budget $share
done

# Numbers that would not mean what they say.
tiny="mlp:sizes=16-8-4 --batch 4 --steps 2"
for zero in "--lr 0" "--lr 1e-400" "--clip 0" "--budget 0" "--lr nan" "--lr inf" "--lr 1e400" "--lr 1,5" \
	"--threads 1000" "--threads 0" "--batch 9223372036854775808" "--seed -1" "--seed 18446744073709551616" \
	"--valid 1" "--budget 16777216TiB" "--budget 18446744073709551615" "--budget 1GiB --host 2000000TiB" \
	"--budget 1GiB --disk :1GiB" "--budget 1GiB --disk /var/tmp:0" "--budget 1GiB --disk /var/tmp:1KiB"; do
	refuses 2 "${zero%% *}\|--host\|--disk\|disk tier\|not a size" "$zero" train $tiny $zero
done
refuses 2 "^sluice train: --loss is not an option of train$" "no hint where none is near" train lenet5 --loss mse
works "the largest seed" train $tiny --seed 18446744073709551615 --lr 0.5
works "a batch larger than the data" train $tiny --batch 2147483647
grep -q "more than the 1024 samples" "$work/err" && ok "is told" || not_ok "is told"
works "an evaluation without held-out samples" train $tiny --eval
grep -q "no sample is held out" "$work/err" && ok "is told" || not_ok "is told"
refuses 4 "smaller model" "a model beyond every machine is refused at once" \
	train gpt2:vocab=16777216,width=65536,layers=1024 --batch 1 --steps 1
refuses 2 "?\[31m" "control characters do not reach the terminal" train $'mlp:\e[31m'

# Names and sizes that meet each other.
mkdir "$work/here" "$work/here/lenet5"
program=$(realpath "$sluice")
(cd "$work/here" && "$program" plan lenet5 --batch 8 >"$work/out" 2>"$work/err") &&
	ok "a folder called like a model does not hide it" || not_ok "a folder called like a model does not hide it"
awk 'BEGIN {for (i = 0; i < 5; i++) {for (j = 0; j < 768; j++) printf "%d,", i * j % 7; print i % 3}}' >"$work/five.csv"
refuses 2 "last step of an epoch has 1 samples" "batch norm of a last sample alone" \
	train resnet18:input=3x16x16,classes=3 --batch 2 --epochs 1 --data csv:$work/five.csv
head -n 1 "$work/five.csv" >"$work/one.csv"
works "a single sample" train mlp --batch 4 --steps 2 --data csv:$work/one.csv

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

# One plan a file, one text a stream.
refuses 2 "one plan" "all plans to one file" plan lenet5 --batch 8 --policy all -o $work/all.plan
refuses 2 "one plan" "a front to one file" plan lenet5 --batch 8 --pareto -o $work/all.plan
[ ! -e "$work/all.plan" ] && ok "nothing was written" || not_ok "nothing was written"
refuses 2 "alone" "rows and a plan to standard output" plan lenet5 --batch 8 --json -o -
works "a plan alone to standard output" plan lenet5 --batch 8 --budget 1MiB -o - --record $work/alone.trace
cp "$work/out" "$work/alone.plan"
works "is a plan" check $work/alone.trace $work/alone.plan

# Budgets.
refuses 3 "op .*needs" "a budget below the least names the binding op" train lenet5 --batch 64 --budget 64KiB
refuses 3 "budget" "plan prints its table and exits 3" plan lenet5 --batch 64 --budget 64KiB
grep -q "joint.*does not fit: needs" "$work/out" && ok "the table is there" || not_ok "the table is there"

# Folders of the disk tier.
run plan lenet5 --batch 64 --budget 1GiB --json
tight="lenet5 --batch 64 --steps 3 --budget $(field least_budget_bytes)"
refuses 2 "RAM" "tmpfs as the disk tier" train $tight --disk /dev/shm
refuses 4 "SLUICE_DISK" "a disk folder that is not there" train $tight --disk $work/none
refuses 4 "no folder" "a disk folder that is a file" train $tight --disk $work/noise
printf '1,2,0\n3,4,1\n' >"$work/two.csv"
SLUICE_DISK=$work/none refuses 6 "SLUICE_DISK" "scratch files in a folder that is not there" train mlp --data csv:$work/two.csv
refuses 3 "disk" "a disk tier capped below what is needed" train $tight --disk /var/tmp:4KiB
refuses 3 "" "no disk tier at all" train $tight --disk none

# Checkpoints: the last good one stays.
works "a checkpoint is written" train $small --save $work/good.safetensors
before=$(sha256sum <"$work/good.safetensors")
refuses 7 "lr" "a loss that is not finite" train lenet5 --batch 8 --steps 50 --optim sgd --lr 1e20 --save $work/good.safetensors
[ "$(sha256sum <"$work/good.safetensors")" = "$before" ] && ok "the checkpoint before it is intact" ||
	not_ok "the checkpoint before it is intact"
refuses 7 "allow-nan$" "with no checkpoint none is spoken of" \
	train lenet5 --batch 8 --steps 50 --optim sgd --lr 1e20 --save $work/never.safetensors
refuses 6 "" "a checkpoint in a folder that is not there" train $small --save $work/none/a.safetensors
began=$SECONDS
refuses 6 "folder" "and it is found before the first step" train $small --steps 100000000 --save $work/none/a.safetensors
[ $((SECONDS - began)) -lt 60 ] && [ ! -s "$work/out" ] && ok "nothing was trained" || not_ok "nothing was trained"
refuses 6 "regular file" "a device as the checkpoint" train $small --save /dev/full
mkfifo "$work/fifo"
refuses 6 "regular file" "a pipe as the checkpoint" train $small --save $work/fifo
for option in "--resume $work/fifo" "--data idx:$work/fifo" "--budget 8MiB --plan $work/fifo" "--resume /dev/zero"; do
	refuses 4 "" "no regular file: ${option##* }" train $small $option
done
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
(ulimit -n 8; "$sluice" train $small --data csv:$work/two.csv --save "$work/n" >"$work/out" 2>"$work/err")
grep -q "ulimit -n\|samples of" "$work/err" && ok "few descriptors" || not_ok "few descriptors"
[ -z "$(find "$work" -maxdepth 1 -name '*.tmp*' -o -maxdepth 1 -name '.*.safetensors*')" ] &&
	ok "no temporary file is left" || not_ok "no temporary file is left"

# Standard output that takes nothing, or is not there.
for command in "list models" "help" "train --help" "--version" "plan lenet5 --batch 8" "train $tiny" "train $tiny --json" \
	"infer mlp --input csv:$work/two.csv" "verify $tiny --budget 16KiB"; do
	"$sluice" $command >/dev/full 2>"$work/err"
	full=$?
	"$sluice" $command >&- 2>"$work/err"
	[ "$full $?" = "6 6" ] && grep -q "standard output" "$work/err" && ok "lost output: $command" ||
		not_ok "lost output: $command"
done
"$sluice" train $tight --save "$work/closed.safetensors" >&- 2>&- <&-
works "a run without standard files wrote a good checkpoint" train lenet5 --batch 64 --steps 4 --resume $work/closed.safetensors

finish
