"$GLINT" query no-such.glint 'SELECT 1'
