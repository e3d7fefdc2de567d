#!/bin/sh
# The profile has the source that the program was built of: found in the folder where the compiler ran, marked if it was
# edited since the build, and never another file of the same name. The page shows only lines that ran.
set -eu
cd "$(dirname "$0")"
nvcc=$(../../scripts/have nvcc) || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache"
status=0
fail() {
    echo "$*"
    status=1
}
mkdir -p "$folder/src" "$folder/bin" "$folder/run/src"
cat >"$folder/src/program.cu" <<'EOF'
__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }
int main()
{
    int *numbers;
    cudaMalloc(&numbers, 1024); // the line that ran
    fill<<<1, 256>>>(numbers);
    return cudaDeviceSynchronize();
}
EOF
# Another file of the same name, where the program runs; at the same line it assigns something else.
sed 's/numbers/decoy/g; s/that ran/of another file/' "$folder/src/program.cu" >"$folder/run/src/program.cu"
# Debug information has the name as the compiler was given it, and the folder in which it ran.
(cd "$folder" && "$nvcc" -Wno-deprecated-gpu-targets -arch=compute_75 -O2 -g -lineinfo -o bin/program src/program.cu)

# record NAME: records from the other folder, and makes the page.
record() {
    (cd "$folder/run" && "$GLINT" record -q -o "../$1.glint" --device sim -- ../bin/program) || fail "$1: cannot record"
    "$GLINT" report --format html -o "$folder/$1.html" "$folder/$1.glint" 2>"$folder/message" || {
        grep -q "built without the page" "$folder/message" && { cat "$folder/message"; exit 77; }
        fail "$1: $(cat "$folder/message")"
    }
    sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$folder/$1.html" >"$folder/$1.json"
}
stored() { "$GLINT" query "$folder/$1.glint" "SELECT path, changed FROM v_sources WHERE file LIKE '%program.cu'" | tail -n +2 | tr '\t' ' ' | sort -u; }
shows() { grep -q "$2" "$folder/$1.json"; }

record built
# The kernel's instructions name the same file by another name.
[ "$(stored built)" = "$folder/src/program.cu 0" ] || fail "stored: $(stored built)"
shows built 'the line that ran' || fail "the page does not have the line"
shows built 'of another file' && fail "the page has a line of another file"
"$GLINT" query "$folder/built.glint" "SELECT name FROM v_objects" | grep -qx numbers || fail "the object's name is not that of the source"

# Edited after the recording: the page has what ran.
sed -i '1i // edited' "$folder/src/program.cu"
"$GLINT" report --format html -o "$folder/later.html" "$folder/built.glint"
cmp -s "$folder/later.html" "$folder/built.html" || fail "the page changes when the file does"

# Edited after the build: its lines are not those that ran.
touch -d '+1 hour' "$folder/src/program.cu"
record edited
stored edited | grep -q ' 0$' && fail "an edited file passes for the one that was built: $(stored edited)"
shows edited 'the line that ran' && fail "the page shows lines of a file that was edited"
shows edited 'of another file' && fail "the page has a line of another file instead"

# The file has moved to where the program runs. A shorter file of its name is another one.
rm "$folder/src/program.cu"
echo '// short' >"$folder/run/src/program.cu"
touch -d '2001-01-01' "$folder/run/src/program.cu"
record short
[ -z "$(stored short)" ] || fail "a file that is too short is stored: $(stored short)"
exit $status
