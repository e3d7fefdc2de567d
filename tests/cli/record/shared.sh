# How often each word of shared memory is loaded and stored: a product of matrices through tiles, and a transposition
# through a padded tile, whose padding no thread touches. Sums are those of the simulated GPU's log, and the same if all
# accesses are counted.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
options="-O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75"
words="select * from v_shared_words order by call, array, first"
for name in sgemm_tiled transpose scan histogram; do
    # shellcheck disable=SC2086
    (cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/$name.run" examples/$name/$name.cu $options) || exit 1
    "$GLINT" record -q -o $name.glint --device sim -a shared --no-cache --sim-log log -- ./$name.run >/dev/null
    echo "$name: status $?"
    "$GLINT" query $name.glint "select 4 * sum(loads), 4 * sum(stores) from v_shared_arrays group by call" |
        tail -n +2 | tr '\t' ' ' >told
    "$GLINT" sim-log --summary log | sed -n '/glint_/d; s/.* shared .* bytes_read=\(.*\) bytes_written=/\1 /p' >logged
    cmp told logged && [ -s told ] && echo "as the log says"
    GLINT_SHARED_COUNTING=basic "$GLINT" record -q -f -o basic.glint --device sim -a shared --no-cache -- \
        ./$name.run >/dev/null
    "$GLINT" query $name.glint "$words" >told
    "$GLINT" query basic.glint "$words" >basic
    cmp told basic && echo "as if all were counted"
done
for name in sgemm_tiled transpose; do
    "$GLINT" query $name.glint "select call, name, bytes, dynamic, blocks, touched_words, untouched_bytes, loads_min,
        loads_mean, loads_max, stores_min, stores_mean, stores_max, lost, complete from v_shared_arrays"
done
"$GLINT" query sgemm_tiled.glint "select name, first, words, loads, stores from v_shared_words limit 4"
"$GLINT" query transpose.glint "select count(*), sum(words) from v_shared_words where loads = 0 and stores = 0"
"$GLINT" query transpose.glint "select name, value from v_settings where name = 'analyses'"
"$GLINT" record -q -o q.glint --device sim -a requests --no-cache -- ./transpose.run >/dev/null
"$GLINT" query q.glint "select (select count(*) from v_shared_arrays) + (select count(*) from v_shared_words)"
