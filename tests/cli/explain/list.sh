# Without a pattern, all patterns with their titles.
"$GLINT" explain
