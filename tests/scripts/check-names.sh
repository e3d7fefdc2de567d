#!/bin/sh
# Tests scripts/check-names on small trees that are compiled here: one that follows the rules, and
# each way to break them.
set -eu
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-names
for tool in cc nm; do
    command -v $tool >/dev/null || { echo "SKIP: no $tool"; exit 77; }
done
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# file NAME LINE... writes a file of the tree's src.
file() {
    mkdir -p "$(dirname "$tree/src/$1")"
    name=$1
    shift
    printf '%s\n' "$@" >"$tree/src/$name"
}

# A tree that follows the rules: the part low, and gpusim with rooms.
good_tree() {
    rm -rf "${tree:?}"/*
    mkdir "$tree/build"
    file low/low.h 'struct low_thing {' '    int x;' '};'
    file low/low.c 'int low_begin(void);' 'struct entry {' '    int x;' '};' 'int low_begin(void)' '{' '    return 0;' '}' \
        'static int helper = 1;' 'int low_next = sizeof(helper);' 'int low;'
    file gpusim/log/write.c 'struct entry {' '    int y;' '};' 'int log_write;' 'int gpusim_open;'
    file gpusim/numbers/half.c 'int num_add;'
    file gpusim/runtime/versions/old.c 'int runtime_old;' 'int inner_cudaMalloc;' 'int cuInit;'
}

# Compiles the tree as CMake would, and runs the check.
run() {
    (
        cd "$tree/build"
        find "$tree/src" -name '*.c' | while read -r source; do
            object=$(echo "$source" | sed "s#$tree/src/##; s#/#.#g").o
            cc -c -o "$object" "$source"
            printf '{\n  "directory": "%s",\n  "command": "cc -o %s -c %s",\n  "file": "%s"\n},\n' \
                "$tree/build" "$object" "$source" "$source"
        done >compile_commands.json
    )
    "$check" "$tree" build
}

good_tree
run || { echo "a tree that keeps the rules was refused"; exit 1; }

# refused EXPECTED: the check must fail, and the message must name the reason.
refused() {
    if message=$(run); then
        echo "accepted: $1"
        exit 1
    fi
    case $message in
    *"$1"*) ;;
    *) echo "expected '$1', got '$message'"; exit 1 ;;
    esac
}

good_tree
file low/more.c 'int begin;'
refused 'src/low/more.c: the global symbol begin does not start with low_'

good_tree
file gpusim/log/read.c 'int write_log;'
refused 'src/gpusim/log/read.c: the global symbol write_log does not start with log_ or gpusim_'

good_tree
file gpusim/numbers/int.c 'int numbers_add;'
refused 'the global symbol numbers_add does not start with num_'

good_tree
file gpusim/log/read.c 'int num_add_2;'
refused 'the global symbol num_add_2 does not start with log_'

good_tree
file gpusim/machine/warp.h 'struct low_thing {' '    int z;' '};'
refused 'the tag low_thing is defined at src/gpusim/machine/warp.h:1 too'

good_tree
file gpusim/machine/warp.h 'enum entry {' '    ENTRY' '};'
refused 'the tag entry is defined at src/gpusim/'

good_tree
file gpusim/machine/warp.c 'union entry {' '    int z;' '};' 'int sim_warp;'
refused 'src/gpusim/machine/warp.c:1: the tag entry is defined at src/gpusim/log/write.c:1 too'
