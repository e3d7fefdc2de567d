"$GLINT" sim-log
