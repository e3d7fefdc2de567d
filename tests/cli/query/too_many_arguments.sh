"$GLINT" query some.glint SELECT 1
