# SPDX-License-Identifier: Apache-2.0
# Shared by the end-to-end tests: each check is a line of output; the last line counts them.
set -u
sluice=${SLUICE:-build/sluice}
work=$(mktemp -d /var/tmp/sluice-e2e-XXXXXX)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
passed=0
failed=0

ok()
{
	passed=$((passed + 1))
	echo "ok: $1"
}

not_ok()
{
	failed=$((failed + 1))
	echo "FAILED: $1"
	[ -s "$work/out" ] && sed 's/^/    out: /' "$work/out" | tail -n 5
	[ -s "$work/err" ] && sed 's/^/    err: /' "$work/err" | tail -n 5
}

# run ARGS...: exit code in $code, output in $work/out and $work/err.
run()
{
	"$sluice" "$@" >"$work/out" 2>"$work/err" </dev/null
	code=$?
}

# refuses CODE TEXT NAME ARGS...: exits with CODE and says TEXT on standard error.
refuses()
{
	local want=$1 text=$2 name=$3
	shift 3
	run "$@"
	if [ "$code" = "$want" ] && grep -q -e "$text" "$work/err"; then
		ok "$name"
	else
		not_ok "$name (exit $code, wanted $want and '$text')"
	fi
}

# works NAME ARGS...
works()
{
	local name=$1
	shift
	run "$@"
	if [ "$code" = 0 ]; then ok "$name"; else not_ok "$name (exit $code)"; fi
}

# field NAME [FILE]: the value of "NAME": in the last JSON line that has it.
field()
{
	sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" "${2:-$work/out}" | tail -n 1
}

finish()
{
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}
