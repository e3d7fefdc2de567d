# The short form of an option belongs to the same option in every verb.
"$GLINT" --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | while read -r verb; do
    "$GLINT" "$verb" --help | sed -n 's/^  -\(.\), --\([a-z-]*\).*/\1 \2/p'
done | sort -u
