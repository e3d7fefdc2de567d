"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
"$GLINT" sim-log --calls "$SCRATCH/whole"
