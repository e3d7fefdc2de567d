"$GLINT" run --help
