#!/bin/sh
# test_forms.sh PROGRAM: accesses are attributed by their address, whatever the address looks like
# when a kernel gets it. For each form, probes report what the launch touched, and the report calls
# only `idle` unused. GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# look ANALYSES NAME [adjacent]: keeps what the launch touched, why it is unknown, and which objects
# are found to be unused.
look() {
    analyses=$1
    shift
    "$GLINT" record --device "$device" --analyses "$analyses" -q -f -o "$work/profile" -- "$program" "$@" ||
        echo "$*: the program failed"
    # Objects 1 to 3 are in, out and idle. All others may hold the pointer.
    "$GLINT" query --csv "$work/profile" "SELECT '$*' AS form, group_concat(a.object) AS touched, sum(a.read + a.written) AS ways, (SELECT group_concat(why) FROM v_unknown_launches) AS why FROM v_accesses a WHERE a.object < 4 AND a.call IN (SELECT call FROM v_launches)" |
        tail -n +2 >>"$work/touched"
    "$GLINT" report --format json "$work/profile" >"$work/json"
    unused=$(grep -o '"pattern":"unused-allocation","object":[0-9]*' "$work/json" | sed 's/.*://' | tr '\n' ' ')
    echo "$* unused: $unused" >>"$work/unused"
}

if [ "$device" = sim ]; then
    names=$("$GLINT" run --device sim -- "$program")
else
    names=$("$program")
fi
for name in $names; do
    look objects "$name"
done
for name in one-based far-based backwards back distance words narrow half; do
    look objects "$name" adjacent
done
for name in one-based back high distance offset; do
    look values "$name"
done
bad=0
grep -vE '^[a-z -]*,2,2,$' "$work/touched" && bad=1
# What is not touched is found, but never `out`.
grep -vE ' unused: ([13] )+([4-9] )*$' "$work/unused" && bad=1
[ "$(wc -l <"$work/touched")" -eq "$(wc -l <"$work/unused")" ] || bad=1
[ "$(wc -l <"$work/touched")" -ge 50 ] || bad=1
exit $bad
