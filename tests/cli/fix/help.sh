"$GLINT" fix --help
