#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The main job, shown: what a budget will cost, real models that train inside it, and three jobs that share one device,
# all of them bit for bit the same.
set -eu

sluice=$(realpath "${SLUICE:-build/sluice}")
sluiced=$(dirname "$sluice")/sluiced
work=$(mktemp -d /var/tmp/sluice-demo-XXXXXX)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; rm -rf "$work"' EXIT
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

# field NAME FILE: of the summary in JSON.
field()
{
	sed -n "s/.*\"summary\".*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "$2"
}

# together NAME OPTIONS...: the command, and its job in the background ($!).
together()
{
	name=$1
	shift
	echo "\$ sluice train $* --shared --name $name &"
	"$sluice" train "$@" --shared --name "$name" --json >"$name.shared" 2>&1 &
}

# picture FILE NAME...: who had each lane when, from the decisions; jobs are numbered as they came.
picture()
{
	file=$1
	shift
	awk -v names="$*" -v width=90 '
		function value(key, i) {
			for (i = 2; i <= NF; i++)
				if (index($i, key "=") == 1)
					return substr($i, length(key) + 2) + 0
			return -1
		}
		$1 == "decisions" { next }
		{ at = value("at"); last = at > last ? at : last }
		$1 == "run" { n++; from[n] = at; job[n] = value("job"); lane[n] = value("lane"); open[lane[n]] = n
			lanes = lane[n] > lanes ? lane[n] : lanes }
		$1 == "turn" || $1 == "end" || $1 == "lost" {
			for (l in open)
				if (open[l] && job[open[l]] == value("job")) { till[open[l]] = at; open[l] = 0 }
		}
		END {
			split(names, name, " ")
			first = from[1]
			for (l = 0; l <= lanes; l++) {
				line = ""
				for (c = 0; c < width; c++) {
					a = first + (last - first) * c / width
					b = first + (last - first) * (c + 1) / width
					most = 0; who = " "
					split("", has)
					for (i = 1; i <= n; i++) {
						if (lane[i] != l || from[i] >= b || (till[i] ? till[i] : last) <= a)
							continue
						lo = from[i] > a ? from[i] : a
						hi = (till[i] ? till[i] : last) < b ? (till[i] ? till[i] : last) : b
						has[job[i]] += hi - lo
					}
					for (k in has)
						if (has[k] > most) { most = has[k]; who = substr(name[k], 1, 1) }
					line = line who
				}
				printf "   lane %d |%s| %.1f s\n", l, line, (last - first) / 1e9
			}
		}' "$file"
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

title "6. Three jobs share one device that holds two thirds of what they take"
say "Each alone first, for its digest and its time; then all of them through the daemon. The last to come is urgent."
sum=0
small="gpt2:layers=2,width=256 --data text:kjv.txt --batch 8 --clip 1 --seed 1 --steps $((steps * 2))"
net="resnet18:classes=10,input=3x32x32 --batch 16 --seed 2 --steps $((steps * 2))"
urgent="convnet --data idx:/usr/share/datasets/fashion-mnist --batch 128 --seed 3 --steps $steps"
for name in gpt net urgent; do
	case $name in gpt) job=$small ;; net) job=$net ;; *) job=$urgent ;; esac
	"$sluice" train $job --json >"$name.alone"
	sum=$((sum + $(field peak_device_bytes "$name.alone")))
done
SLUICE_SOCKET=$work/daemon.sock
export SLUICE_SOCKET
echo "\$ sluiced --budget $((sum * 2 / 3)) --log decisions &"
"$sluiced" --budget $((sum * 2 / 3)) --log decisions >daemon.log 2>&1 &
daemon=$!
while [ ! -S "$SLUICE_SOCKET" ]; do sleep 0.05; done
shared=$(date +%s%N)
together gpt $small --allow-slowdown 50%
together net $net --allow-slowdown 50%
until grep -q '"step":4,' net.shared && grep -q '"step":4,' gpt.shared; do sleep 0.1; kill -0 $!; done
together urgent $urgent --priority 1
until grep -q '"step":1,' urgent.shared; do sleep 0.05; kill -0 $!; done
echo
show top --once
wait $! || true
while [ "$("$sluice" ps --json | grep -c '"state"')" -gt 0 ]; do sleep 0.2; done
shared=$((($(date +%s%N) - shared) / 1000000))
kill "$daemon"
wait "$daemon" || true
daemon=
echo
echo "Who had the lanes, by the daemon's log (g: gpt, n: net, u: urgent):"
echo
picture decisions gpt net urgent
echo
show sim --decisions decisions
echo
printf '%-8s %11s %11s  %9s %9s  %9s %7s %7s  %s\n' "" "peak alone" "shared" "ms/step" "shared" \
	"waited s" turns parked digest
for name in gpt net urgent; do
	same=DIFFERENT
	[ "$(field digest "$name.alone")" != "$(field digest "$name.shared")" ] || same=same
	awk -v name="$name" -v a="$(field peak_device_bytes "$name.alone")" -v b="$(field peak_device_bytes "$name.shared")" \
		-v s="$(field iter_ms_median "$name.alone")" -v t="$(field iter_ms_median "$name.shared")" \
		-v w="$(field waited_ms "$name.shared")" -v n="$(field turns "$name.shared")" \
		-v p="$(field parked "$name.shared")" -v same="$same" 'BEGIN {
		printf "%-8s %7.1f MiB %7.1f MiB  %9.1f %9.1f  %9.1f %7d %7d  %s\n", name, a / 2^20, b / 2^20, s, t,
			w / 1e3, n, p, same }'
	[ $same = same ] || { echo "demo: $name is not what it is alone"; exit 1; }
done
printf '\n   %d.%d s together in %d MiB; their peaks add up to %d MiB.\n' $((shared / 1000)) $((shared % 1000 / 100)) \
	$((sum * 2 / 3 / 1048576)) $((sum / 1048576))

}

title "In short: every loss, parameter and checkpoint byte was the same with the budget and without"
printf '%-18s %11s    %9s  %8s    %8s  %10s  %6s\n' "" memory budgeted ms/step budgeted in/step again
cat short
echo
echo "   ($(($(date +%s) - begun)) seconds on $(nproc) cores; ms/step are medians, 'again' are ops run again a step. What"
echo "   moved waited on disk, in a file without a name in ${SLUICE_DISK:-/var/tmp}.)"
