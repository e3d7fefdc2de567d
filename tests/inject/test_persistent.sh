#!/bin/sh
# test_persistent.sh PROGRAM: kernels whose blocks may wait for one another. If a launch fits the
# GPU at once, but would not with probes, the original kernel runs. All other launches are watched.
# The clone of a kernel that looks addresses up has 64 registers at element level; the kernel itself
# has 32 on the simulated GPU. With GLINT_TEST_DEVICE=gpu, a kernel of few registers has blocks that
# wait for each other (see persistent.c, meet).
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
        # The last launch has one block per multiprocessor, which fits with probes as well.
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
    # Graph launches are watched if they have few blocks or if their blocks do not wait.
    is "$analysis: graphs" "$(ask "SELECT EXISTS(SELECT 1 FROM v_accesses a WHERE a.call = c.number) FROM v_calls c
        WHERE c.kind = 'graph-launch' ORDER BY c.number" | tr -d '\n')" 011011
    is "$analysis: notes" "$(ask "SELECT text FROM v_notes WHERE text LIKE 'kernel follow:%'")" \
        "kernel follow: $not_watched"
    # Beside other streams, probes must leave as much room as the kernel does, or half of the GPU.
    "$GLINT" record --device sim -q -f -o "$work/profile" -a "$analysis" -- "$1" beside
    is "$analysis: beside" "$(ask 'SELECT watched FROM v_launches ORDER BY call' | tr -d '\n')" 110011
done
# If probes need few registers, all launches are watched.
"$GLINT" record --device sim -q -f -o "$work/profile" -a objects -- "$1" >"$work/out"
is "objects: watched" "$(ask 'SELECT DISTINCT watched FROM v_launches')" 1
echo "launches that would not fit with probes run without"
