"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
cd "$SCRATCH" && head -c -5 whole >unfinished && "$GLINT" sim-log --calls unfinished
