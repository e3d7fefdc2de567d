"$GLINT" sim-log one two
