"$GLINT" record --device sim -- "$SCRATCH/nowhere" 2>&1 | sed "s|$SCRATCH|SCRATCH|"
"$GLINT" record --device sim -- no-such-program-anywhere
