# Peaks, objects and findings of each device, and both ends of a copy between devices.
build=${GLINT_BUILD_DIR:-../../../build}
"${CC:-cc}" -std=gnu11 -g -D_GNU_SOURCE -I ../../../src -o "$SCRATCH/program" program.c \
    -L "$build/lib/glint/sim" -l:libcuda.so.1 -Wl,--allow-shlib-undefined || exit 1
"$GLINT" record -q -o "$SCRATCH/p" --device 'sim:h200*2' --analyses all -- "$SCRATCH/program" || exit 1
"$GLINT" report --verbose "$SCRATCH/p" >"$SCRATCH/report" || exit 1
sed -n '2p; /^Peak/,/^Findings/p; /^  [0-9]*\. /p; /^Objects by size/,/^Next/p' "$SCRATCH/report" |
    sed 's|  [^ ]*program\.c:|  program.c:|; /^Next/d'
"$GLINT" query "$SCRATCH/p" "SELECT direction, bytes, from_object, to_object FROM v_copies WHERE direction LIKE 'peer%'"
"$GLINT" query "$SCRATCH/p" 'SELECT a.object, o.device, a.bytes_read, a.bytes_written, a.elements, a.new_elements
    FROM v_accesses a JOIN v_objects o ON o.number = a.object ORDER BY a.call, a.object'
"$GLINT" query "$SCRATCH/p" 'SELECT * FROM v_object_elements ORDER BY object'
"$GLINT" report --format json "$SCRATCH/p" | python3 -c '
import json, sys
summary = json.load(sys.stdin)["summary"]
print(summary["peak_bytes"], summary["achievable_peak_bytes"])
for peak in summary["peaks"]:
    print([peak[name] for name in ("device", "rank", "bytes", "objects")])'
