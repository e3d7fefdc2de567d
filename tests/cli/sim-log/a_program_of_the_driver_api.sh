# examples/driver_api makes four allocations, of which the last is never touched.
cd ../../.. || exit 1
program=${GLINT_BUILD_DIR:-build}/examples/driver_api
"$GLINT" run --device sim --workers 2 --sim-log "$SCRATCH/log" -- "$program" 64 || exit 1
"$GLINT" sim-log --summary "$SCRATCH/log"
"$GLINT" sim-log --calls "$SCRATCH/log" | sed -n 's/^call [0-9]* thread=1 \([^ ]*\).*/\1/p'
