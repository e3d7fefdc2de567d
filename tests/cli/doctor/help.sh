"$GLINT" doctor --help
