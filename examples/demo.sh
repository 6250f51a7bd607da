#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, shown: two real models train inside half the memory they take, bit for bit the same.
set -eu

sluice=${SLUICE:-build/sluice}
work=$(mktemp -d /var/tmp/sluice-demo-XXXXXX)
trap 'rm -rf "$work"' EXIT INT TERM
text=$work/kjv.txt
images=/usr/share/datasets/fashion-mnist

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

# show TITLE MODEL OPTIONS...: preview, then the same training with and without the budget.
show()
{
	title=$1
	shift
	echo
	echo "== $title"
	budget=$(half "$@")
	"$sluice" plan "$@" --budget "$budget" --policy all
	echo
	"$sluice" verify "$@" --budget "$budget" --steps "$steps"
}

bible -f Gen1:1-Rev22:21 >"$text"

steps=${DEMO_STEPS:-40}
show "a convolutional network on Fashion-MNIST, half its memory" \
	convnet --data "idx:$images" --batch 128 --clip 1
show "a small GPT on the King James text, half its memory" \
	gpt2:layers=4,width=256 --data "text:$text" --batch 8 --clip 1

echo
echo "== and it learns: the same network, one epoch inside that budget"
"$sluice" train convnet --data "idx:$images" --batch 128 --epochs 1 --eval --clip 1 \
	--budget "$(half convnet --data "idx:$images" --batch 128 --clip 1)"
