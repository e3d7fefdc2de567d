#!/bin/sh
# test_mpi.sh MPI RANKS: records the ranks of tests/record/mpi/ring.c with an MPI of Debian: openmpi or mpich. The
# program's output is what it is without glint, and each rank has one profile, the same whether mpirun is recorded or
# starts the recorders.
set -eu
mpi=$1 ranks=$2
for tool in "mpicc.$mpi" "mpirun.$mpi"; do
    command -v "$tool" >/dev/null || { echo "SKIP: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe HYDRA_LAUNCHER=fork
"mpicc.$mpi" -O1 -g -D_GNU_SOURCE -I "$GLINT_SOURCE_DIR" -o "$work/ring" "$GLINT_SOURCE_DIR/tests/record/mpi/ring.c" -ldl
cd "$work"
start() { "mpirun.$mpi" -n "$ranks" "$@"; }
fail() { echo "$mpi: $*"; exit 1; }
last=$((ranks - 1))

start "$GLINT" run -q --device sim -- ./ring >plain
grep -q "^$ranks ranks, sum " plain || fail "the program does not run: $(cat plain)"

# tell FILE...: what the profiles say, but for addresses, times, processes, and exit statuses, which the system tells only
# the parent.
tell() {
    for file; do
        "$GLINT" query "$file" "SELECT rank, ranks, local_rank, launcher, host = '$(hostname)' AS host, job IS NOT NULL
                AS job, devices IS NOT NULL AS devices, (SELECT complete FROM v_meta)
                AND end_ns IS NOT NULL AS ended,
                (SELECT group_concat(kind || name) FROM (SELECT kind, name FROM v_calls ORDER BY number)) AS calls,
                (SELECT group_concat(kind || name || bytes) FROM
                    (SELECT kind, name, bytes FROM v_objects ORDER BY number)) AS objects,
                (SELECT count(*) FROM v_notes WHERE severity = 'error') AS errors FROM v_program" | tail -n +2
    done
}
check_files() { # PREFIX RANK...: there are these profiles of PREFIX and no others
    prefix=$1
    shift
    for rank; do echo "$prefix-rank$rank.glint"; done | sort >wanted
    printf '%s\n' "$prefix"*.glint | sort | diff wanted - || fail "other profiles than these: $prefix, ranks $*"
}

start "$GLINT" record -q -o inside.glint --device sim -- ./ring >out
diff plain out
check_files inside $(seq 0 $last)
"$GLINT" record -q -o outside.glint --device sim -- "mpirun.$mpi" -n "$ranks" ./ring >out
diff plain out
check_files outside $(seq 0 $last)
for rank in $(seq 0 $last); do
    tell "inside-rank$rank.glint" >told
    tell "outside-rank$rank.glint" | diff told - || fail "rank $rank differs when mpirun is recorded"
    [ "$(cut -f 1-3 told)" = "$(printf '%s\t%s\t%s' "$rank" "$ranks" "$rank")" ] || fail "rank $rank: $(cat told)"
    objects=$("$GLINT" query "inside-rank$rank.glint" "SELECT count(*) FROM v_objects WHERE bytes = 1048576" | tail -n 1)
    [ "$objects" = $((rank + 1)) ] || fail "rank $rank has $objects objects"
done

# Some of them, in both ways.
start "$GLINT" record -q --ranks "1,3-$last" -o some.glint --device sim -- ./ring >out
diff plain out
check_files some 1 $(seq 3 $last)
"$GLINT" record -q --ranks 0 -o one-%r.glint --device sim -- "mpirun.$mpi" -n "$ranks" ./ring >out
diff plain out
[ "$(echo one-*)" = one-0.glint ] || fail "other profiles than rank 0's: $(echo one-*)"

# First uses are watched inside of MPI's functions.
start "$GLINT" record -q -a sync,objects -o "uses-%r-of-%q{WANTED}.glint" --device sim -- ./ring >out
diff plain out
[ "$(find . -name "uses-*-of-none.glint" | wc -l)" = "$ranks" ] || fail "not a profile for each rank: $(echo uses-*)"
echo "$ranks ranks of $mpi are recorded, inside and outside of mpirun"
