# Addresses differ from run to run; all else does not.
"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
"$GLINT" sim-log "$SCRATCH/whole" | sed -e 's/address=0x[0-9a-f]*/address=HERE/' -e 's/params=[0-9a-f]*/params=HERE/'
