"$GLINT" check --help
