#!/bin/sh
# mpi.sh WRITE_RANKS MPIEXEC GLINT_MERGE_MPI: merging as an MPI program gives the file of glint merge, on any number of
# ranks, and tells what was left out.
set -eu
write=$1 mpiexec=$2 program=$3
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_rmaps_base_oversubscribe
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir folder
TMPDIR=$scratch/folder
export TMPDIR
"$mpiexec" -n 1 true >out 2>&1 || { echo "SKIP: $mpiexec cannot start a process: $(tail -n 1 out)"; exit 77; }
bad=0
"$write" . 10 60 seed=1
"$GLINT" merge -o whole.glint rank-*.glint

# 5 ranks are no power of two. Some have one file, and one of the files is a job profile.
"$GLINT" merge -o part.glint rank-0000[0-3].glint
"$mpiexec" -n 5 "$program" -o tree.glint part.glint rank-0000[4-9].glint || { echo "status $?"; bad=1; }
cmp whole.glint tree.glint || bad=1

# More ranks than files, and files that are left out: on rank 0, and on others.
echo text >bad.glint
"$GLINT" merge -o two.glint bad.glint rank-00001.glint missing.glint 2>/dev/null || [ $? = 1 ]
status=0
"$mpiexec" -n 4 "$program" -o tree2.glint bad.glint rank-00001.glint missing.glint >out 2>&1 || status=$?
[ $status = 1 ] || { echo "status $status, expected 1"; cat out; bad=1; }
cmp two.glint tree2.glint || bad=1
grep -q 'left out bad.glint: bad.glint is not a profile' out || { echo "bad.glint is not named"; cat out; bad=1; }

# An existing file stays, and different profiles of a process end all ranks.
status=0
"$mpiexec" -n 2 "$program" -o tree.glint rank-00001.glint >out 2>&1 || status=$?
[ $status = 2 ] && cmp whole.glint tree.glint || { echo "status $status, expected 2"; cat out; bad=1; }
mkdir other
"$write" other 10 100 seed=1
status=0
"$mpiexec" -n 3 "$program" -o never.glint rank-0000[1-3].glint other/rank-00002.glint >out 2>&1 || status=$?
[ $status = 2 ] && [ ! -e never.glint ] || { echo "status $status, expected 2"; cat out; bad=1; }
grep -q 'different profiles of the same process, rank 2' out || { echo "rank 2 is not named"; cat out; bad=1; }
# No temporary file is left, apart from those of the MPI.
! ls folder | grep glint || bad=1
exit $bad
