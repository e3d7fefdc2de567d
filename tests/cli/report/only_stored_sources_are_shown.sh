# The page contains the source files that the recording stored, as they were then, and no other file, whatever the
# profile names.
. ./sample
echo 'a secret in a source file' >secret.cu
echo 'a secret in a configuration' >secret.conf
sql() { sqlite3 "$1" "$2"; }
command -v sqlite3 >/dev/null || { echo "SKIP: there is no sqlite3"; exit 77; }
formats() { # FILE TEXT: counts in which formats the text appears
    for format in text json html sarif github perfetto dot; do
        "$GLINT" report --verbose --format $format "$1" 2>/dev/null | grep -q "$2" && echo "$format has $2"
    done
}
cp sample.glint p.glint
for file in "$PWD/secret.cu" secret.cu "$PWD/secret.conf" /etc/passwd; do
    # All files that frames and sites name become this one, with and without a stored text of another name.
    cp sample.glint p.glint
    sql p.glint "UPDATE strings SET text='$file' WHERE id IN (SELECT file FROM frames UNION SELECT file FROM kernel_sites)
        AND id NOT IN (SELECT text FROM sources);"
    formats p.glint secret.in
    formats p.glint 'a secret'
    formats p.glint root:
done

# The stored text is shown, also where the file has other contents by now.
for i in $(seq 400); do echo "stored line $i"; done >stored
cp sample.glint p.glint
sql p.glint "UPDATE strings SET text=CAST(readfile('stored') AS TEXT) WHERE id=(SELECT text FROM sources WHERE number=1);
    UPDATE sources SET name=(SELECT file FROM frames WHERE file IS NOT 0 LIMIT 1) WHERE number=1;"
for i in $(seq 400); do echo "a secret at line $i"; done >vectors.cu
formats p.glint 'a secret'
formats p.glint 'stored line'
"$GLINT" query p.glint "SELECT file, length(text) AS bytes FROM v_sources"
