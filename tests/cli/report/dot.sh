# The value flow graph: of the program of figure 3 of the ValueExpert paper, whole and in parts, and of a
# profile with host memory, unknown work and a graph.
. ./sample
"$tests/report/write_flow" figure.glint || exit
"$GLINT" report --format dot figure.glint
for part in "--slice 8" "--slice fill" "--slice figure.cu:7" "--least-bytes 16384" "--least-bytes 16385 --least-calls 1" \
    "--slice 8 --least-bytes 16384"; do
    echo "== $part"
    # shellcheck disable=SC2086
    "$GLINT" report --format dot $part figure.glint | sed -n 's/^ *\(v.*\) \[.*/\1/p' | tr '\n' ';'
    echo
done
echo "== a higher threshold"
"$GLINT" report --format dot --threshold redundant-percent=60 --slice fill figure.glint | grep -- "->.*redundant"
echo "== sample"
"$GLINT" report --format dot sample.glint
