"$GLINT" report --help
