# The first ten as annotations, the others as a table behind them, with nothing taken for syntax.
. ./waste
"$GLINT" report --format github --source-root /home/me/project waste.glint
echo "== of no worth"
"$GLINT" report --format github --source-root /home/me/project -t peaks=1 waste.glint | sed -n 's/^\(::[a-z]*\) .*title=\([^:]*\):.*/\1 \2/p'
