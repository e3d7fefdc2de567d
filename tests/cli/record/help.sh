"$GLINT" record --help
