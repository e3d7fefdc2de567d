"$GLINT" query some.glint
