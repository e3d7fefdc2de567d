"$GLINT" sim-log --help
