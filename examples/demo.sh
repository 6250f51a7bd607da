#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, shown: what a budget will cost, and real models that train inside it, bit for bit the same.
set -eu

sluice=$(realpath "${SLUICE:-build/sluice}")
work=$(mktemp -d /var/tmp/sluice-demo-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
gpt="gpt2:layers=4,width=256 --data text:kjv.txt --batch 8 --clip 1 --lr 0.0005"
convnet="convnet --data idx:/usr/share/datasets/fashion-mnist --batch 128 --clip 1"
slow="--link 14GB/s --duplex half"
steps=${DEMO_STEPS:-30}
begun=$(date +%s)

title()
{
	printf '\n== %s\n\n' "$1"
}

say()
{
	printf '   %s\n\n' "$1"
}

# show COMMAND OPTIONS...: the command as one would type it, and what it prints.
show()
{
	echo "\$ sluice $*"
	"$sluice" "$@"
}

# verify NAME STEPS BUDGET MODEL OPTIONS...: both runs and their table; a line for the end.
verify()
{
	name=$1 count=$2 budget=$3
	shift 3
	rm -f failed
	{
		show verify "$@" --budget "$budget" --steps "$count" || echo $? >failed
	} | tee table
	[ ! -e failed ] || exit "$(cat failed)"
	awk -F '  +' -v name="$name" '
		/^peak device memory/ { a = $2; b = $3 }
		/^ms a step/ { s = $2; t = $3 }
		/^copied in/ { moved = $3 }
		/^ops run again/ { again = $3 }
		END { printf "%-18s %11s -> %9s  %8s -> %8s  %10s  %6s\n", name, a, b, s, t, moved, again }
	' table >>short
}

cd "$work"
bible -f Gen1:1-Rev22:21 >kjv.txt

# The models' words are split on purpose.
# shellcheck disable=SC2086
{
title "1. What would a budget cost? A small GPT on the King James text; nothing is run"
show plan $gpt --pareto

title "2. A quarter of its memory, bit for bit"
say "Some tensors wait on disk, some are computed again. $steps steps inside the budget, and the same without:"
verify "gpt2, a quarter" "$steps" 26% $gpt

title "3. The least memory that works"
least=$("$sluice" plan $gpt --budget 50% --json | sed -n 's/.*"least_budget_bytes":\([0-9]*\).*/\1/p')
verify "gpt2, the least" $((steps / 4 + 1)) "$least" $gpt
echo
say "One 4 KiB block less is refused before anything is run:"
code=0
show train $gpt --steps 1 --budget $((least - 4096)) 2>&1 || code=$?
[ "$code" = 3 ] || { echo "demo: exit code $code where 3 was due"; exit 1; }

title "4. It learns: one epoch of Fashion-MNIST in 60 % of the memory, and prediction against reality"
show train $convnet --epochs 1 --eval --budget 60%

title "5. A fast device behind a slow link, in virtual time: ResNet-50 in three quarters of its memory"
show plan resnet50 --batch 16 --costs gpu --host 64GiB --disk none $slow --budget 75% --policy all \
	--record resnet50.trace
echo
say "keep moves nothing, belady only swaps, vdnn and capuchin are papers' rules. Two such jobs on one device, planned
   together for half of what both take:"
show replay resnet50.trace resnet50.trace --joint --budget 50% $slow
}

title "In short: every loss, parameter and checkpoint byte was the same with the budget and without"
printf '%-18s %11s    %9s  %8s    %8s  %10s  %6s\n' "" memory budgeted ms/step budgeted in/step again
cat short
echo
echo "   ($(($(date +%s) - begun)) seconds on $(nproc) cores; ms/step are medians, 'again' are ops run again a step. What"
echo "   moved waited on disk, in a file without a name in ${SLUICE_DISK:-/var/tmp}.)"
