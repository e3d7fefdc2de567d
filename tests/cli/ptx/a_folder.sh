"$GLINT" ptx .
