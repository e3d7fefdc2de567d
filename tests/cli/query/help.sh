"$GLINT" query --help
