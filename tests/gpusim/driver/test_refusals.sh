#!/bin/sh
# What the simulated GPU in folder $1 cannot do is refused when it is called, with a message that says what is missing.
set -eu
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/program.c" <<'EOF'
#include <stdio.h>
int cuIpcGetMemHandle(void *handle, unsigned long long address);
int cuImportExternalMemory(void *memory, const void *description);
int cuMemAlloc(unsigned *address, unsigned size);
int cudaIpcGetEventHandle(void *handle, void *event);
int main(void)
{
    char handle[256];
    unsigned address;
    printf("%d %d %d %d\n", cuIpcGetMemHandle(handle, 0), cuImportExternalMemory(handle, handle), cuMemAlloc(&address, 4),
           cudaIpcGetEventHandle(handle, handle));
    return cuIpcGetMemHandle(handle, 0) != 801; // without a second message
}
EOF
cc -o "$work/program" "$work/program.c" -L"$sim" -l:libcuda.so.1 -l:libcudart.so.13
LD_LIBRARY_PATH=$sim "$work/program" >"$work/stdout" 2>"$work/stderr"
[ "$(cat "$work/stdout")" = "801 801 801 801" ]
cat >"$work/wanted" <<'EOF'
glint: simulated GPU: cuImportExternalMemory is not implemented: the simulated GPU has no memory of other drivers, such as Vulkan's
glint: simulated GPU: cuIpcGetMemHandle is not implemented: memory and events of the simulated GPU cannot be shared with other processes
glint: simulated GPU: cuMemAlloc is not implemented
glint: simulated GPU: cudaIpcGetEventHandle is not implemented: memory and events of the simulated GPU cannot be shared with other processes
EOF
LC_ALL=C sort "$work/wanted" >"$work/sorted"
LC_ALL=C sort "$work/stderr" | diff "$work/sorted" -
