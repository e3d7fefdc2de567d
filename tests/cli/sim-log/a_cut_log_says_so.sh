"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
cd "$SCRATCH" && "$GLINT" sim-log --calls cut
