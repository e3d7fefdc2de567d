# The first ten as annotations, the others as a table behind them, with nothing taken for syntax.
. ./waste
"$GLINT" report --format github --source-root /home/me/project waste.glint
echo "== nothing is worth a thing"
"$(dirname "$write_waste")/write_samples" .
"$GLINT" report --format github flags.glint
