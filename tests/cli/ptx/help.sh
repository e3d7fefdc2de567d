"$GLINT" ptx --help
