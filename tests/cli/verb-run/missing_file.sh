"$GLINT" run -- ./no-such-program-here
