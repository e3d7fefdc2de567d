# An extension of a format that glint diff and glint check do not have is an error, unless the format is given.
. ./sample
for file in x.html x.sarif x.JSON x.txt; do
    "$GLINT" diff -o $file old.glint new.glint 2>&1
    echo "status $?"
done
"$GLINT" check --fail-on any -o y.html new.glint 2>&1
echo "status $?"
"$GLINT" diff --format text -o y.html old.glint new.glint
ls x.* y.*
