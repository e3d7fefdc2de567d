"$GLINT" --help
