# The first ten findings are annotations, the others a table after them, and no text is taken for syntax.
. ./waste
"$GLINT" report --format github --source-root /home/me/project waste.glint
echo "== nothing is worth a thing"
"$(dirname "$write_waste")/write_samples" .
"$GLINT" report --format github flags.glint
