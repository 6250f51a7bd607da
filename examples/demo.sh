#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, shown: two real models train inside half the memory they take, bit for bit the same.
set -eu

sluice=${SLUICE:-build/sluice}
work=$(mktemp -d /var/tmp/sluice-demo-XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
text=$work/kjv.txt
images=/usr/share/datasets/fashion-mnist
convnet="convnet --data idx:$images --batch 128 --clip 1"
gpt="gpt2:layers=4,width=256 --data text:$text --batch 8 --clip 1 --lr 0.0005"
begun=$(date +%s)

# field NAME: the number behind "NAME": in the JSON line on standard input.
field()
{
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | head -n 1
}

# half MODEL OPTIONS...: half of the unbudgeted peak, whole 4 KiB blocks, in bytes.
half()
{
	peak=$("$sluice" plan "$@" --json | field unbudgeted_peak_bytes)
	echo $((peak / 2 / 4096 * 4096))
}

# verify NAME STEPS BUDGET MODEL OPTIONS...: both runs and their table; a line for the end.
verify()
{
	name=$1 steps=$2 budget=$3
	shift 3
	echo
	echo "   The same $steps steps twice, inside the budget and without one:"
	echo
	rm -f "$work/failed"
	{
		"$sluice" verify "$@" --budget "$budget" --steps "$steps" ||
			echo $? >"$work/failed"
	} | tee "$work/table"
	[ ! -e "$work/failed" ] || exit "$(cat "$work/failed")"
	awk -F '  +' -v name="$name" '
		/^peak device memory/ { a = $2; b = $3 }
		/^ms a step/ { s = $2; t = $3 }
		/^bytes moved/ { moved = $3 }
		END { printf "%-24s %11s -> %11s  %8s -> %8s  %10s\n", name, a, b, s, t, moved }
	' "$work/table" >>"$work/short"
}

# plan BUDGET MODEL OPTIONS...: the preview.
plan()
{
	budget=$1
	shift
	echo
	echo "   What a budget of half its memory will cost. Nothing is run yet:"
	echo
	"$sluice" plan "$@" --budget "$budget" --policy all
}

bible -f Gen1:1-Rev22:21 >"$text"
steps=${DEMO_STEPS:-40}

# The models' words are split on purpose.
# shellcheck disable=SC2086
{
echo
echo "== 1. A convolutional network on Fashion-MNIST, in half its memory"
tight=$(half $convnet)
plan "$tight" $convnet
verify "convnet, half" "$steps" "$tight" $convnet

echo
echo "== 2. A small GPT on the King James text, in half its memory"
budget=$(half $gpt)
plan "$budget" $gpt
verify "gpt2, half" "$steps" "$budget" $gpt

echo
echo "== 3. The same GPT in the least memory that works"
least=$("$sluice" plan $gpt --budget "$budget" --json | field least_budget_bytes)
verify "gpt2, the least" $((steps / 4 + 1)) "$least" $gpt
echo
echo "   One 4 KiB block less is refused before anything is run:"
echo
echo "\$ sluice train gpt2:layers=4,width=256 ... --budget $((least - 4096))"
code=0
"$sluice" train $gpt --steps 1 --budget $((least - 4096)) 2>&1 || code=$?
[ "$code" = 3 ] || { echo "demo: exit code $code where 3 was due"; exit 1; }

echo
echo "== 4. And it learns: the convolutional network, one epoch inside that half"
echo
"$sluice" train $convnet --epochs 1 --eval --budget "$tight"
}

echo
echo "== In short: every loss, parameter and checkpoint byte was the same with the budget and without"
echo
printf '%-24s %11s    %11s  %8s    %8s  %10s\n' "" memory budgeted "ms/step" budgeted moved
cat "$work/short"
echo
echo "   ($(($(date +%s) - begun)) seconds on $(nproc) cores; ms/step are medians. What moved waited on disk, in a file"
echo "   without a name in ${SLUICE_DISK:-/var/tmp}.)"
