# The value flow graph, whole and in parts.
. ./sample
"$GLINT" report --format dot sample.glint
for part in "--slice 8" "--slice add" "--least-bytes 7000" "--least-bytes 9000 --least-calls 2"; do
    echo "== $part"
    # shellcheck disable=SC2086
    "$GLINT" report --format dot $part sample.glint | sed -n 's/ \[.*//p'
done
