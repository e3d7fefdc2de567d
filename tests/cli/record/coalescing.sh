# A transposition stores poorly coalesced; one through a tile in shared memory does not, and has bank conflicts only if
# the rows of the tile are not padded.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
jq=$("$root/scripts/have" jq) || exit 77
mkdir plain
sed 's/\[tile\]\[tile + 1\]/[tile][tile]/' "$root/examples/transpose/transpose.cu" >plain/transpose.cu
cp "$root/examples/example.h" .
options="-O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75"
# shellcheck disable=SC2086
(cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/padded.run" examples/transpose/transpose.cu $options) || exit 1
# shellcheck disable=SC2086
"$nvcc" -o plain.run plain/transpose.cu $options || exit 1
for version in padded plain; do
    "$GLINT" record -q -o $version.glint --device sim -a requests --no-cache -- ./$version.run >/dev/null
    echo "$version: status $?"
    "$GLINT" report --format json $version.glint | "$jq" -r '.findings[] | select(.evidence.line) |
        "\(.pattern) \(.kernel | sub("\\(.*"; "")):\(.evidence.line.line) \(.evidence.access) \(.evidence.sectors // .evidence.wavefronts) of \(.evidence.needed)"'
done

# A rule can be suppressed by the line or by the kernel.
for path in transpose.cu:20 transpose.cu:21 transpose_naive transpose_tiled; do
    printf 'fail-on = ["poor-coalescing"]\n[[suppress]]\npath = "%s"\nreason = "known"\n' $path >rules.toml
    "$GLINT" check --rules rules.toml padded.glint >out 2>&1
    echo "$path: status $?"
done
