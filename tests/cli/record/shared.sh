# How often each word of shared memory is loaded and stored: a product of matrices through tiles, and a transposition
# through a padded tile, whose padding no thread touches. Sums are those of the simulated GPU's log, and the same in all
# ways to count that are exact. The others say how much is missing.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
options="-O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75"
words="select * from v_shared_words order by call, array, first"
sums="select call, sum(loads + stores) + max(missed) from v_shared_arrays group by call"
for name in sgemm_tiled transpose scan histogram; do
    # shellcheck disable=SC2086
    (cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/$name.run" examples/$name/$name.cu $options) || exit 1
    "$GLINT" record -q -o $name.glint --device sim -a shared --no-cache -- ./$name.run >recorded
    echo "$name: status $?"
    "$GLINT" query $name.glint "select 4 * sum(loads), 4 * sum(stores) from v_shared_arrays group by call" |
        tail -n +2 | tr '\t' ' ' >told
    "$GLINT" run --device sim --sim-log log -- ./$name.run >plain
    "$GLINT" sim-log --summary log | sed -n 's/.* shared .* bytes_read=\(.*\) bytes_written=/\1 /p' >logged
    cmp told logged && [ -s told ] && echo "as the log says"
    cmp recorded plain && echo "the program prints the same"
    "$GLINT" query $name.glint "$words" >told
    for ways in basic sa sm sa,sm sa,sm,th; do
        GLINT_SHARED_COUNTING=$ways "$GLINT" record -q -f -o other.glint --device sim -a shared --no-cache -- \
            ./$name.run >/dev/null
        "$GLINT" query other.glint "$words" >other
        cmp told other && echo "the same with $ways"
    done
    "$GLINT" query $name.glint "$sums" >told
    for ways in na sa,na sa,na,sm sa,na,sm,th; do
        GLINT_SHARED_COUNTING=$ways "$GLINT" record -q -f -o other.glint --device sim -a shared --no-cache -- \
            ./$name.run >/dev/null
        "$GLINT" query other.glint "$sums" >other
        cmp told other && echo "the same with $ways and what it says that it lost"
        "$GLINT" query other.glint "select 'wrong' from v_shared_arrays where complete <> (missed = 0)" | tail -n +2
    done
done
# Without atomic operations, bins of the histogram lose counts.
"$GLINT" query other.glint "select max(missed) > 0, min(complete) from v_shared_arrays"
for ways in th sa,th sa,,sm all; do
    GLINT_SHARED_COUNTING=$ways "$GLINT" record -q -f -o other.glint --device sim -a shared --no-cache -- \
        ./transpose.run >/dev/null
    "$GLINT" query other.glint "select severity, text, (select count(*) from v_shared_arrays) from v_notes" | tail -n +2
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
