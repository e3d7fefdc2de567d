#!/bin/sh
# glint.h compiles with strict warnings as C and C++, without glint; also if included twice or by
# two files.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in one two; do
    cat > "$work/$name.c" <<END
#include <glint/glint.h>
#include <glint/glint.h>
int $name(void *p);
int $name(void *p) { return glint_name(p, "$name") + glint_suballoc(p, 1) + glint_subfree(p); }
END
    cp "$work/$name.c" "$work/$name.cc"
done
echo 'int one(void *p); int two(void *p); int main(void) { return one(0) + two(0) + 6; }' > "$work/main.c"
cp "$work/main.c" "$work/main.cc"
compile() {
    language=$1
    shift
    "$@" -Wall -Wextra -Wpedantic -Werror -I "$GLINT_SOURCE_DIR/include" -o "$work/program" \
        "$work/one.$language" "$work/two.$language" "$work/main.$language" -ldl
    "$work/program" # all say -1: nobody records
}
compile c "${CC:-cc}" -std=c99 -D_GNU_SOURCE
if command -v "${CXX:-c++}" > /dev/null; then
    compile cc "${CXX:-c++}" -std=c++11
fi
