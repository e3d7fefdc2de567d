"$GLINT" run
