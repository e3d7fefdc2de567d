"$GLINT" --version
