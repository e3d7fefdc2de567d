# Control characters, and characters that change the direction of text, are escaped in every format, in cells, column
# names and messages; other characters are unchanged.
. ./sample
odd="'a' || char(27) || '[31m' || char(7, 8, 9, 10, 13, 127, 0x85, 0x9b) || '\\ é €' || char(0x202e, 0x2066, 0x200f, 0x61c, 0x2028, 0x1f600) || ',\"' || x'9b' || 'z'"
sql="SELECT $odd AS \"n$(printf '\033\302\233')n\", 1 AS one UNION ALL SELECT 'plain', 2"
for format in table tabs csv json; do
    "$GLINT" query --format $format sample.glint "$sql"
done
"$GLINT" query sample.glint "SELECT 'a' || char(0) || 'b'"
"$GLINT" query sample.glint "SELECT \"$(printf 'no\033]0;x\007')\".a" 2>&1
"$GLINT" query "$(printf 'no\033[1mfile')" "SELECT 1" 2>&1
{
    for format in table tabs csv json; do
        "$GLINT" query --format $format sample.glint "$sql"
    done
} | LC_ALL=C tr -d '\n\t -~' | LC_ALL=C sed 's/\xc3\xa9//g; s/\xe2\x82\xac//g; s/\xf0\x9f\x98\x80//g' | od -c
