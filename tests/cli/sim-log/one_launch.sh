# There is one launch, and it has the number 1.
"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
"$GLINT" sim-log --launch 1 --accesses "$SCRATCH/whole" >"$SCRATCH/one"
"$GLINT" sim-log --accesses "$SCRATCH/whole" | diff "$SCRATCH/one" - && "$GLINT" sim-log --launch 2 "$SCRATCH/whole"
