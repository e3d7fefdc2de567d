#!/bin/sh
# perfetto.sh WRITE_SAMPLE WRITE_SAMPLES CHECK_PERFETTO: compares traces of glint report -f --format
# perfetto with their profiles. The tracks have as many slices as the profile has rows, and the
# counters' maxima equal the report's peak.
set -eu
check=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
"$1" --unfinished "$scratch/unfinished.glint"
"$2" "$scratch"
bad=0

ask() { "$GLINT" query "$profile" "$1" | tail -n 1; }

# told WORDS: prints the number after the words in the decoder's output; 0 if they are not there.
told() { sed -n "s|^$1 \([0-9]*\).*|\1|p" "$scratch/told" | grep . || echo 0; }

same() {
    [ "$2" = "$3" ] || { echo "$(basename "$profile"): $1: $2 in the trace, $3 in the profile"; bad=1; }
}

for profile in "$scratch"/*.glint; do
    "$GLINT" report -f --format perfetto -o "$scratch/trace" "$profile" || { echo "no trace of $profile"; bad=1; }
    "$check" "$scratch/trace" >"$scratch/told" || { echo "the trace of $profile is not well-formed"; bad=1; continue; }
    "$GLINT" report -f --format json -o "$scratch/report.json" "$profile"
    works="result = 0 AND NOT captured"
    same calls "$(told 'slices call')" "$(ask 'SELECT count(*) FROM v_calls')"
    same waits "$(told 'slices wait')" "$(ask 'SELECT count(*) FROM v_calls WHERE waited_ns <> 0')"
    same work "$(told 'slices gpu')" "$(ask "SELECT count(*) FROM v_calls
        WHERE kind IN ('launch', 'copy', 'set', 'graph-launch') AND $works")"
    same nodes "$(told 'slices gpu-node')" "$(ask "SELECT count(*) FROM v_node_runs r JOIN v_calls c
        ON c.number = r.call WHERE r.gpu_start_ns IS NOT NULL AND $works")"
    same objects "$(told 'slices object')" "$(ask 'SELECT count(*) FROM v_objects')"
    same findings "$(told 'instants finding')" "$(grep -o '"findings":[0-9]*' "$scratch/report.json" | sed 's/.*://')"
    # The process has its own counter only if several devices have objects.
    grep '^counter .*/memory in use ' "$scratch/told" | sort -t ' ' -k 1,1 >"$scratch/sums" || true
    grep -v '^counter GPU ' "$scratch/sums" >"$scratch/sum" || cp "$scratch/sums" "$scratch/sum"
    peak=$(grep -o '"peak_bytes":[0-9]*' "$scratch/report.json" | head -n 1 | sed 's/.*://')
    [ "${#peak}" -lt 19 ] || peak=9223372036854775807
    same peak "$(sed -n 's/.* highest \([0-9]*\) .*/\1/p' "$scratch/sum" | grep . || echo 0)" "$peak"
    [ "${#peak}" -ge 19 ] || same "what is left" \
        "$(sed -n 's/.* last \([0-9]*\)$/\1/p' "$scratch/sum" | grep . || echo 0)" \
        "$(ask "SELECT coalesce(sum(bytes), 0) FROM v_objects WHERE (kind = 'tensor' OR (parent IS NULL AND
            kind IN ('device', 'pitched', 'array', 'managed', 'pool', 'mapping', 'graph', 'heap') AND
            number NOT IN (SELECT parent FROM v_objects WHERE kind = 'tensor' AND parent IS NOT NULL))) AND
            coalesce(freed_by, 0) NOT IN (SELECT number FROM v_calls)")"
done

# In this trace, 6 calls have work after them, 7 pieces of work depend on others through objects,
# and 2 calls wait for events.
profile=$scratch/timeline.glint
"$GLINT" report -f --format perfetto -o "$scratch/trace" "$profile"
"$check" "$scratch/trace" >"$scratch/told"
grep -qx 'flows 15' "$scratch/told" || { echo "not 15 flows:"; grep flows "$scratch/told"; bad=1; }

# The decoder detects errors.
bytes=$(wc -c <"$scratch/trace")
for at in 1 2 40 $((bytes / 2)) $((bytes - 1)); do
    head -c "$at" "$scratch/trace" >"$scratch/wrong"
    ! "$check" "$scratch/wrong" >/dev/null 2>&1 || { echo "cut at $at: not noticed"; bad=1; }
done
cat "$scratch/trace" "$scratch/trace" >"$scratch/wrong"
! "$check" "$scratch/wrong" >/dev/null 2>&1 || { echo "twice: not noticed"; bad=1; }
exit $bad
