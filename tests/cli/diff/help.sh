"$GLINT" diff --help
