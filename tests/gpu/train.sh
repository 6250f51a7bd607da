#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a card: trainings near the CPU's losses, the same bits again and inside a budget.
. "$(dirname "$0")/../e2e/lib.bash"

if ! "$sluice" doctor --json 2>"$work/err" | grep -q '"name":"cuda","verdict":"ok"'; then
	echo "no card: $("$sluice" doctor --json 2>/dev/null | sed -n 's/.*"name":"cuda".*"fact":"\([^"]*\)".*/\1/p')"
	rm -rf "$work"
	exit 77
fi

# trains WHERE NAME ARGS...: the report of a training goes to a file of that name.
trains()
{
	local where=$1 name=$2
	shift 2
	works "$name on $where" train "$@" --steps 3 --json --device "$where"
	cp "$work/out" "$work/$where"
}

# near: the last losses of both devices differ by at most a thousandth.
near()
{
	awk -v a="$(field loss_last "$work/cpu")" -v b="$(field loss_last "$work/cuda")" \
		'BEGIN { d = a - b; exit !(a > 0 && d * d < 1e-6 * a * a) }'
}

while read -r name args; do
	# shellcheck disable=SC2086
	trains cpu "$name" $args
	# shellcheck disable=SC2086
	trains cuda "$name" $args
	digest=$(field digest)
	near && ok "$name: losses are the CPU's" || not_ok "$name: losses are the CPU's"
	for more in "" "--budget ${BUDGET:-75%}"; do
		# shellcheck disable=SC2086
		works "$name again $more" train $args --steps 3 --json --device cuda $more
		[ -n "$digest" ] && [ "$(field digest)" = "$digest" ] &&
			ok "$name: the same bits $more" || not_ok "$name: the same bits $more"
	done
done <<<"${MODELS:-lenet5 lenet5 --batch 64
gpt2 gpt2:layers=2,width=128,vocab=512 --batch 4 --data synthetic:64
resnet18 resnet18:classes=10,input=3x32x32 --batch 8}"
finish
