"$GLINT" merge --help
