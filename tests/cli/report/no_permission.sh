# Root can read everything, unless it gives up that right.
. ./sample
chmod 000 sample.glint
mkdir closed
cp sample.glint closed/
chmod 000 closed
as=
if [ "$(id -u)" = 0 ]; then
    as='setpriv --bounding-set=-dac_override,-dac_read_search'
    $as true 2>/dev/null || { echo "SKIP: no setpriv to give up root's right to read everything"; exit 77; }
fi
$as "$GLINT" report sample.glint
echo "status $?"
$as "$GLINT" report closed/sample.glint
echo "status $?"
chmod 700 closed
