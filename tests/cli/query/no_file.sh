"$GLINT" query
