# Addresses differ from run to run; everything else is the same.
"${GLINT_BUILD_DIR:-../../../build}/tests/gpusim/write_log" "$SCRATCH" || exit 77
"$GLINT" sim-log "$SCRATCH/whole" | sed -e 's/\(address\|to\|from\)=0x[0-9a-f]*/\1=HERE/g' -e 's/params=[0-9a-f]*/params=HERE/'
