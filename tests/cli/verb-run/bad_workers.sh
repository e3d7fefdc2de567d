for number in 0 -1 two 3x '' 99999999999999999999; do
    "$GLINT" run --workers "$number" -- true
done
