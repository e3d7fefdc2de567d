# Suppressions match by pattern, by object and by call path (functions and files); all that a suppression names must
# match.
. ./sample
try() {
    printf 'fail-on = ["memory-leak"]\n[[suppress]]\nreason = "r"\n%b\n' "$1" >rules.toml
    "$GLINT" check -r rules.toml new.glint | head -n 1
}
try 'pattern = "memory-leak"'
try 'pattern = "dead-write"'
try 'object = "leaked"'
try 'object = "leak*"'
try 'object = "leak"'
try 'path = "setup"'
try 'path = "set*"'
try 'path = "main"'
try 'path = "solve"'
try 'path = "finish"'
try 'path = "solve.cu"'
try 'path = "src/*.cu"'
try 'path = "/moved/src/solve.cu"'
try 'path = "solve.c"'
try 'path = "solve.cu:21"'
try 'path = "/moved/src/solve.cu:2?"'
try 'path = "solve.cu:22"'
try 'pattern = "memory-leak"\nobject = "leaked"\npath = "setup"'
try 'pattern = "memory-leak"\nobject = "leaked"\npath = "other"'
try 'pattern = "memory-leak"\nobject = "other"\npath = "setup"'
