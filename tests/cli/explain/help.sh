# What --help says, with the list of patterns.
"$GLINT" explain --help
