#!/bin/sh
# test_forms.sh PROGRAM: accesses are attributed by their address, whatever the address looks like
# when a kernel gets it. For each form, probes report what the launch touched, and the report calls
# only `idle` unused. GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# look ANALYSES NAME [WAY]: keeps what the launch touched, why it is unknown, and which objects
# are found to be unused.
look() {
    analyses=$1
    shift
    "$GLINT" record --device "$device" --analyses "$analyses" -q -f -o "$work/profile" -- "$program" "$@" ||
        echo "$*: the program failed"
    # Objects 1 to 3 are in, out and idle. All others may hold the pointer.
    "$GLINT" query --csv "$work/profile" "SELECT '$*' AS form, group_concat(a.object) AS touched, sum(a.read + a.written) AS ways, (SELECT group_concat(why) FROM v_unknown_launches) AS why FROM v_accesses a WHERE a.object < 4" |
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
for way in pool buffer graph; do
    for name in plain one-based high distance table selected; do
        look objects "$name" $way
    done
done
# Nothing is called unused that the host may use.
cp "$work/unused" "$work/device"
for way in managed pinned; do
    for name in plain one-based halves distance table selected; do
        look objects "$name" $way
    done
done
bad=0
grep -vE '^[a-z -]*,2,2,$' "$work/touched" && bad=1
# What is not touched is found, but never `out`.
grep -vE ' unused: ([13] )+([4-9] )*$' "$work/device" && bad=1
grep -E '(managed|pinned) unused: [1-3]' "$work/unused" && bad=1
[ "$(wc -l <"$work/touched")" -eq "$(wc -l <"$work/unused")" ] || bad=1
[ "$(wc -l <"$work/touched")" -ge 105 ] || bad=1
exit $bad
