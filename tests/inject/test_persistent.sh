#!/bin/sh
# Launches of kernels that may wait for other blocks run as the program wrote them if they fit the GPU at once, but
# would not with probes, and all others are watched: test_persistent.sh PROGRAM. The clone of a kernel that looks
# addresses up has 64 registers at element level, on the simulated GPU the kernel itself 32.
# With GLINT_TEST_DEVICE=gpu: a kernel of few registers whose blocks wait for each other (see persistent.c, meet).
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query --csv "$work/profile" "$1" | tail -n +2; }
is() { # WHAT FOUND EXPECTED
    [ "$2" = "$3" ] || {
        printf '%s: %s\nexpected: %s\n' "$1" "$2" "$3"
        exit 1
    }
}
not_watched='launches whose blocks all fit on the GPU at once are not watched if they would not fit with probes'
if [ "${GLINT_TEST_DEVICE:-sim}" = gpu ]; then
    for analysis in elements counts; do
        "$GLINT" record --device gpu -q -f -o "$work/profile" -a "$analysis" -- "$1" barrier >"$work/out" || {
            cat "$work/out"
            exit 1
        }
        # The last has one block for each multiprocessor, which fits with probes as well.
        is "$analysis: watched" "$(ask 'SELECT watched FROM v_launches ORDER BY call' | tr -d '\n')" \
            "$(awk '{ printf "%d", /^one block/ }' "$work/out")"
        is "$analysis: notes" "$(ask "SELECT text FROM v_notes WHERE text LIKE 'kernel meet:%'")" "kernel meet: $not_watched"
    done
    echo "launches that would not fit with probes ran without: $(grep -c 'all blocks met' "$work/out") ways"
    exit 0
fi
for analysis in elements counts; do
    "$GLINT" record --device sim -q -f -o "$work/profile" -a "$analysis" -- "$1" >"$work/out"
    watched=$(ask 'SELECT watched FROM v_launches ORDER BY call' | tr -d '\n')
    is "$analysis: watched" "$watched" 000000000111111101110
    # Launches of graphs: those with few blocks are watched, and those of blocks that do not wait.
    is "$analysis: graphs" "$(ask "SELECT EXISTS(SELECT 1 FROM v_accesses a WHERE a.call = c.number) FROM v_calls c
        WHERE c.kind = 'graph-launch' ORDER BY c.number" | tr -d '\n')" 011011
    is "$analysis: notes" "$(ask "SELECT text FROM v_notes WHERE text LIKE 'kernel follow:%'")" \
        "kernel follow: $not_watched"
done
# With probes of few registers all of them are.
"$GLINT" record --device sim -q -f -o "$work/profile" -a objects -- "$1" >"$work/out"
is "objects: watched" "$(ask 'SELECT DISTINCT watched FROM v_launches')" 1
echo "launches that would not fit with probes run without"
