#!/bin/sh
# test_unknown.sh PROGRAM: accesses that glint did not observe are unknown, and no finding relies on
# them. For each way in which the program touches `out`, the profile says why it is unknown, and the
# report calls neither `out` nor `idle` unused. If everything is known, it calls `idle` unused.
# GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# look NAME ANALYSES: prints why accesses are unknown, and which objects are found to be unused.
look() {
    "$GLINT" record --device "$device" --analyses "$2" -f -o "$work/profile" -- "$program" "$1" \
        >"$work/out" 2>&1 || :
    # The allocator decides whether a pointer outside of its object points into another one.
    why=$("$GLINT" query --csv "$work/profile" \
        'SELECT group_concat(DISTINCT why) FROM v_unknown_launches' | tail -n +2 | sed 's/pointer\|left/outside/')
    "$GLINT" report --format json "$work/profile" >"$work/json"
    unused=$(grep -o '"pattern":"unused-allocation","object":[0-9]*' "$work/json" | sed 's/.*://' | tr '\n' ' ')
    says=$("$GLINT" report --verbose "$work/profile" | tr '\n' ' ' | tr -s ' ' |
        grep -c 'did to memory is unknown, so nothing is reported' || :)
    echo "$1 $2: ${why:-known}; unused: ${unused:-none }noted: $says"
}

program=$1
{
    for name in inside bound one-based backwards tagged distance both found found-outside graph graph-both texture \
        values _exit abort killed fault fail; do
        look $name objects
    done
    for name in inside one-based distance both found graph graph-both texture killed fail; do
        look $name elements
    done
} >"$work/found"
# Objects are numbered in the order of their allocation: in, out, idle. At object level, a launch
# expects accesses where its arguments and its shape lead. At element level, probes look accesses up
# by address, wherever a pointer leads.
diff -u - "$work/found" <<END || bad=1
inside objects: known; unused: 3 noted: 0
bound objects: known; unused: 3 noted: 0
one-based objects: known; unused: 3 noted: 0
backwards objects: known; unused: 3 noted: 0
tagged objects: known; unused: 3 noted: 0
distance objects: known; unused: 3 noted: 0
both objects: outside; unused: none noted: 1
found objects: outside; unused: none noted: 1
found-outside objects: outside; unused: none noted: 1
graph objects: known; unused: 3 noted: 0
graph-both objects: outside; unused: none noted: 1
texture objects: texture; unused: none noted: 1
values objects: known; unused: 3 noted: 0
_exit objects: untold; unused: none noted: 1
abort objects: untold; unused: none noted: 1
killed objects: untold; unused: none noted: 1
fault objects: untold; unused: none noted: 1
fail objects: untold; unused: none noted: 1
inside elements: known; unused: 3 noted: 0
one-based elements: known; unused: 3 noted: 0
distance elements: known; unused: 3 noted: 0
both elements: known; unused: 3 noted: 0
found elements: known; unused: 3 noted: 0
graph elements: known; unused: 3 noted: 0
graph-both elements: known; unused: 3 noted: 0
texture elements: texture; unused: none noted: 1
killed elements: untold; unused: none noted: 1
fail elements: untold; unused: none noted: 1
END
exit $bad
