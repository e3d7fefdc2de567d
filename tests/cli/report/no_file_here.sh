cd "$SCRATCH" && "$GLINT" report
