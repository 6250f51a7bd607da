#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command of README.md runs as printed, in order; what it shows as printed is what is printed.
. "$(dirname "$0")/../e2e/lib.bash"

here=$PWD
mkdir "$work/tree" && cd "$work/tree"
mkdir build && ln -s "$sluice" build/sluice && ln -s "$(dirname "$sluice")/sluiced" build/sluiced && ln -s "$here/tests" tests
n=0
export SLUICE_SOCKET=$work/daemon.sock
daemon=
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$work"' EXIT
while IFS= read -r line; do
	n=$((n + 1))
	case $line in
	build/sluiced*)
		$line >daemon.log 2>&1 &
		daemon=$!
		until [ -S "$SLUICE_SOCKET" ] || ! kill -0 $daemon; do sleep 0.05; done
		[ -S "$SLUICE_SOCKET" ] && ok "$line" || not_ok "$line: $(tail -n 1 daemon.log)"
		continue
		;;
	build/sluice\ top) line="$line --once" ;;
	esac
	bash -c "$line" </dev/null >out 2>err
	code=$?
	[ $code = 0 ] && [ -s out ] && ok "$line" || not_ok "$line: exit $code, $(tail -n 1 err)"
done < <(sed -n 's/^    \(build\/sluiced\{0,1\} .*\)/\1/p' "$here/README.md")
[ $n -ge 10 ] && ok "$n commands" || not_ok "only $n commands"

# "$ COMMAND" and the lines below it, up to an empty one: blanks may be line ends.
line=$(sed -n 's/^    \$ \(build\/sluice .*\)/\1/p' "$here/README.md")
bash -c "$line" >out 2>err
[ $? = 3 ] && ok "$line: refused" || not_ok "$line: not refused"
shown=$(sed -n '/^    \$ build/,/^$/{s/^    //;p}' "$here/README.md" | tail -n +2 | tr -s ' \n' ' ')
said=$(tr -s ' \n' ' ' <err)
[ "${shown% }" = "${said% }" ] && ok "with the words shown" || not_ok "with other words: $said"
finish
