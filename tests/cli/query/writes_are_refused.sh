. ./sample
"$GLINT" query sample.glint 'DELETE FROM calls'
"$GLINT" query sample.glint "ATTACH 'x.db' AS x"
"$GLINT" query sample.glint "VACUUM INTO 'copy.glint'"
"$GLINT" query sample.glint "VACUUM"
"$GLINT" query sample.glint "PRAGMA journal_mode=WAL"
"$GLINT" query sample.glint "PRAGMA query_only=OFF"
"$GLINT" query sample.glint "PRAGMA temp_store_directory='/tmp'"
"$GLINT" query sample.glint "CREATE TEMP TABLE mine(a)"
"$GLINT" query sample.glint "SELECT load_extension('x')"
"$GLINT" query sample.glint "SELECT writefile('mine', 'x')"
"$GLINT" query sample.glint "EXPLAIN ATTACH 'x.db' AS x"
"$GLINT" query sample.glint "WITH x AS (SELECT 1) INSERT INTO notes SELECT 1, 1, 1"
"$GLINT" query sample.glint "SELECT * FROM pragma_journal_mode"
"$GLINT" query sample.glint "REINDEX"
"$GLINT" query sample.glint "ANALYZE"
"$GLINT" query sample.glint "BEGIN IMMEDIATE"
"$GLINT" query sample.glint 'SELECT 1; DROP TABLE calls'
status=$?
ls
exit $status
