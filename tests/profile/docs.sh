#!/bin/sh
# docs.sh WRITE_SAMPLE: compares docs/reference/profile.md with the format. The document lists every
# view with all of its columns in order, and its queries find something in the sample profile.
set -eu
doc=$GLINT_SOURCE_DIR/docs/reference/profile.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$1" "$scratch/sample.glint"
bad=0

# Prints "view column" for each row of the tables below a heading that names a view.
awk '/^### v_/ { view = $2 } /^## / { view = "" }
     view && /^\| [a-z0-9_]+ \|/ && !($2 == "column" && $4 == "is") { print view, $2 }' "$doc" >"$scratch/told"
"$GLINT" query "$scratch/sample.glint" "
    SELECT v.name || ' ' || c.name FROM pragma_table_list v, pragma_table_info(v.name) c
    WHERE v.type = 'view' ORDER BY v.name, c.cid" | tail -n +2 >"$scratch/there"
# v_findings is not in the file.
"$GLINT" query "$scratch/sample.glint" "SELECT * FROM v_findings" | head -n 1 | tr '\t' '\n' |
    sed 's/^/v_findings /' >>"$scratch/there"
awk '{ print $1 }' "$scratch/there" | sort -u >"$scratch/views"
[ "$(wc -l <"$scratch/views")" -ge 30 ] || { echo "too few views: the question is wrong"; bad=1; }
while read -r view; do
    awk -v view="$view" '$1 == view' "$scratch/told" >"$scratch/a"
    awk -v view="$view" '$1 == view' "$scratch/there" >"$scratch/b"
    diff -u "$scratch/a" "$scratch/b" || { echo "docs/reference/profile.md does not describe $view as it is"; bad=1; }
done <"$scratch/views"
awk '{ print $1 }' "$scratch/told" | sort -u | diff "$scratch/views" - || { echo "views differ"; bad=1; }

# Runs every query.
awk -v folder="$scratch" '/^```sql$/ { query++; inside = 1; next } /^```$/ { inside = 0 }
     inside { print >(folder "/query" query) }' "$doc"
count=0
for query in "$scratch"/query*; do
    count=$((count + 1))
    rows=$("$GLINT" query "$scratch/sample.glint" "$(cat "$query")" | wc -l) || rows=0
    [ "$rows" -gt 1 ] || { echo "this query of docs/reference/profile.md fails or finds nothing:"; cat "$query"; bad=1; }
done
[ $count -ge 12 ] || { echo "too few queries: the extraction is wrong"; bad=1; }
exit $bad
