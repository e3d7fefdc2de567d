#!/bin/sh
# perfetto_processor.sh WRITE_SAMPLE WRITE_SAMPLES: Perfetto's trace processor imports the traces
# without errors or losses. GLINT_TRACE_PROCESSOR names the program; the default is
# trace_processor_shell on the PATH.
set -eu
processor=${GLINT_TRACE_PROCESSOR:-$(command -v trace_processor_shell || true)}
[ -n "$processor" ] || { echo "SKIP: no trace_processor_shell (Perfetto's)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
"$2" "$scratch"
bad=0
cat >"$scratch/ask.sql" <<'END'
SELECT 'wrong', name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0
UNION ALL SELECT 'wrong', name, value FROM stats WHERE name LIKE 'flow%' AND value > 0
UNION ALL SELECT 'wrong', 'slices without an end', count(*) FROM slice WHERE dur < 0 HAVING count(*) > 0
UNION ALL SELECT 'slices', ifnull(category, 'none'), count(*) FROM slice GROUP BY category
UNION ALL SELECT 'flows', '', count(*) FROM flow;
END
for name in sample timeline loop odd kinds huge empty; do
    "$GLINT" report -f --format perfetto -o "$scratch/trace" "$scratch/$name.glint"
    "$processor" -q "$scratch/ask.sql" "$scratch/trace" >"$scratch/answer" 2>"$scratch/said" ||
        { echo "$name is not taken:"; cat "$scratch/said"; bad=1; }
    tr -d '"' <"$scratch/answer" >"$scratch/told"
    ! grep '^wrong,' "$scratch/told" || { echo "in $name"; bad=1; }
    calls=$("$GLINT" query "$scratch/$name.glint" 'SELECT count(*) FROM v_calls' | tail -n 1)
    [ "$calls" = 0 ] || grep -qx "slices,call,$calls" "$scratch/told" || { echo "$name: not $calls calls"; bad=1; }
done
exit $bad
