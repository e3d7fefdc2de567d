"$GLINT" sim-log --launch 0 x
