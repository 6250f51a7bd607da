#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs: time
# Memory as the kernel sees it: models of over 1 GiB, half their peak as the budget, the disk tier below.
# Peak RSS stays within budget + 48 MiB; without a budget it does not.
. "$(dirname "$0")/../e2e/lib.bash"
slack_kib=$((48 * 1024))

# rss ARGS...: peak RSS in KiB in $rss.
rss()
{
	/usr/bin/time -v "$sluice" "$@" >"$work/out" 2>"$work/err"
	code=$?
	rss=$(sed -n 's/.*Maximum resident set size (kbytes): //p' "$work/err")
}

# share NAME: activations of the trace at its peak, as a share of it (most live bytes, by class).
share()
{
	python3 - "$work/step.trace" <<-'P'
	import sys
	size, persistent, first, last, ops = {}, set(), {}, {}, 0
	for line in open(sys.argv[1]):
	    w = line.split()
	    kv = dict(x.split("=", 1) for x in w if "=" in x)
	    if w[0] == "value":
	        size[w[1]] = int(kv["bytes"])
	        if kv["class"] in ("param", "state", "const"):
	            persistent.add(w[1])
	        cls = kv["class"]
	        size[w[1] + ".act"] = cls in ("act", "input")
	    if w[0] == "op":
	        for key in ("in", "out", "mutates"):
	            for v in kv.get(key, "-").split(","):
	                if v != "-":
	                    first.setdefault(v, ops)
	                    last[v] = ops
	        ops += 1
	live, act, best = [0] * (ops + 1), [0] * (ops + 1), 0
	for v in first:
	    if v in persistent:
	        continue
	    live[first[v]] += size[v]; live[last[v] + 1] -= size[v]
	    if size[v + ".act"]:
	        act[first[v]] += size[v]; act[last[v] + 1] -= size[v]
	fixed = sum(size[v] for v in persistent)
	l = a = 0
	for i in range(ops):
	    l += live[i]; a += act[i]
	    if l + fixed > best:
	        best, share = l + fixed, a / (l + fixed)
	print(int(share * 100))
	P
}

# big NAME MODEL OPTIONS...
big()
{
	local name=$1 peak budget limit part
	shift
	run plan "$@" --record "$work/step.trace" --json
	peak=$(field unbudgeted_peak_bytes)
	part=$(share)
	[ "$peak" -gt $((1 << 30)) ] && [ "$part" -gt 50 ] &&
		ok "$name peaks at $peak bytes, $part % activations" ||
		not_ok "$name peaks at $peak bytes, $part % activations"
	budget=$((peak / 2 / 4096 * 4096))
	limit=$((budget / 1024 + slack_kib))
	rss train "$@" --steps 2 --budget $budget --json
	if [ "$code" = 0 ] && [ "$rss" -le $limit ] && [ "$(field peak_device_bytes)" -le $budget ]; then
		ok "$name at 50 %: RSS $rss KiB of $limit, device $(field peak_device_bytes) of $budget"
	else
		not_ok "$name at 50 %: exit $code, RSS $rss KiB of $limit"
	fi
	rss train "$@" --steps 2 --json
	[ "$rss" -gt $limit ] && ok "$name without a budget breaks that limit: $rss KiB" ||
		not_ok "$name without a budget stays within $limit KiB: $rss"
}

big resnet18 resnet18:classes=10,input=3x128x128 --batch 144 --clip 1
big gpt2 gpt2:layers=4,width=256,vocab=256 --batch 112 --clip 1
finish
