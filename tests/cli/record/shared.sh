# How often each word of shared memory is loaded and stored: a product of matrices through tiles, and a transposition
# through a padded tile, whose padding nobody touches.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
options="-O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75"
for name in sgemm_tiled transpose; do
    # shellcheck disable=SC2086
    (cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/$name.run" examples/$name/$name.cu $options) || exit 1
    "$GLINT" record -q -o $name.glint --device sim -a shared --no-cache -- ./$name.run >/dev/null
    echo "$name: status $?"
    "$GLINT" query $name.glint "select call, name, bytes, dynamic, blocks, touched_words, untouched_bytes, loads_min,
        loads_mean, loads_max, stores_min, stores_mean, stores_max, lost, complete from v_shared_arrays"
done
"$GLINT" query sgemm_tiled.glint "select name, first, words, loads, stores from v_shared_words limit 4"
"$GLINT" query transpose.glint "select count(*), sum(words) from v_shared_words where loads = 0 and stores = 0"
"$GLINT" query transpose.glint "select name, value from v_settings where name = 'analyses'"
"$GLINT" record -q -o q.glint --device sim -a requests --no-cache -- ./transpose.run >/dev/null
"$GLINT" query q.glint "select (select count(*) from v_shared_arrays) + (select count(*) from v_shared_words)"
