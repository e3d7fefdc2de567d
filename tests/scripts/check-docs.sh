#!/bin/sh
# Tests scripts/check-docs: good documents pass, long lines and broken links do not.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-docs
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
docs=docs # paths are made of this, because the check would miss the files in the tree itself
mkdir -p "$tree/docs/guide" "$tree/src"
long=$(printf '%0130d' 0 | sed 's/0000000000/word word /g')

cat >"$tree/docs/guide/a.md" <<END
# The \`first\` page, part 1

[this page](#the-first-page-part-1), [the other](../b.md#second-heading), [a folder](../guide)

| $long |
|---|

\`\`\`
$long [no link](nowhere.md)
\`\`\`

    $long

- [a long link](https://example.org/$(printf '%0130d' 0))
END
printf '# B\n\n## Second heading\n\n`[code](nowhere.md)` [web](https://example.org/x)\n' >"$tree/docs/b.md"
printf '// See %s/guide/a.md and other/docs/z.md.\n' $docs >"$tree/src/a.c"
"$check" "$tree" >"$tree/out" || { echo "good documents were refused:"; cat "$tree/out"; exit 1; }

# refused TEXT WORDS: a document with the text is rejected, and the message contains the words.
refused() {
    printf '%s\n' "$1" >"$tree/docs/c.md"
    ! "$check" "$tree" >"$tree/out" || { echo "accepted: $1"; exit 1; }
    grep -qF "$docs/c.md:1: $2" "$tree/out" || { echo "refused otherwise: $1: $(cat "$tree/out")"; exit 1; }
}
refused "$long" '130 columns, at most 120 are allowed'
refused "- $long" '132 columns'
refused 'a [link](d.md)' "link to d.md: there is no $docs/d.md"
refused 'a [link](b.md#third)' "link to b.md#third: $docs/b.md has no such heading"
refused 'a [link](#here)' "link to #here: $docs/c.md has no such heading"
rm "$tree/docs/c.md"
printf '// See %s/moved.md.\n' $docs >"$tree/src/a.c"
! "$check" "$tree" >"$tree/out" || { echo "a comment that names no file was accepted"; exit 1; }
grep -qF "src/a.c:1: there is no $docs/moved.md" "$tree/out" || { echo "refused otherwise: $(cat "$tree/out")"; exit 1; }
