"$GLINT" query --format xml some.glint 'SELECT 1'
