# The widths are those of the first rows; later rows are complete.
. ./sample
"$GLINT" query -F table sample.glint "
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
    SELECT i, 'x' AS x FROM n UNION ALL SELECT 123456, 'longer'" >out
wc -l <out
sed -n -e 1,2p -e 1002p -e '$p' out
