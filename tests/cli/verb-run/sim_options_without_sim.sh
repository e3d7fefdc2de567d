"$GLINT" run --device gpu --workers 2 -- echo runs all the same
