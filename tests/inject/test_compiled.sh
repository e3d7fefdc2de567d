#!/bin/sh
# test_compiled.sh PROGRAM PTX: kernels of machine code that has a copy of its PTX have probes, and those that use
# variables of their module are known by their arguments. The copy has no line numbers: the PTX with them is found beside
# the file and in Triton's cache, and nothing else is taken for it.
set -eu
program=$1 ptx=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset TRITON_CACHE_DIR TRITON_HOME LATE_CACHE
mkdir home cache cache/HASH
export HOME="$work/home"
"$program" forge "$ptx" add_kernel.cubin

# check LINES HOW CUBIN: records the program, which must not notice, and compares what is known, and how many sites
# have a line.
check() {
    "$GLINT" run --device sim -- "$program" "$2" "$3" >plain
    "$GLINT" record --device sim -q -f -o profile -a objects --no-cache -- "$program" "$2" "$3" >out || { cat out; exit 1; }
    cmp plain out
    "$GLINT" query profile "select name, known_by from v_launches" | tail -n +2 >known
    printf 'add_kernel\tprobes\ncount_kernel\targuments\ncount_kernel\targuments\nadd_kernel\t\n' | diff - known
    "$GLINT" query profile "select distinct file || ':' || line from v_kernel_sites order by 1" | tail -n +2 | grep . >lines || true
    if [ "$1" = lines ]; then
        printf '/home/user/add.py:28\n/home/user/add.py:29\n/home/user/add.py:32\n' | diff - lines
    elif [ -s lines ]; then
        echo "there are lines:" && cat lines && exit 1
    fi
}
lay() { # lays both files into the cache
    rm -rf cache/HASH && mkdir -p cache/HASH && cp add_kernel.cubin cache/HASH && cp "$ptx" cache/HASH/add_kernel.ptx
}

check none data add_kernel.cubin
"$GLINT" query profile "select name, reason from v_probes" | tail -n +2 >reasons
printf 'add_kernel\t\ncount_kernel\tit uses variables of its module, which is loaded as machine code\n' | diff - reasons

# Beside the file.
cp "$ptx" add_kernel.ptx
check lines file add_kernel.cubin
check lines file "$work/add_kernel.cubin"
rm add_kernel.ptx

# In the cache.
lay
TRITON_CACHE_DIR=$work/cache check lines data add_kernel.cubin
LATE_CACHE=$work/cache check lines data add_kernel.cubin
mkdir other other/.triton
mv cache other/.triton/cache
TRITON_HOME=$work/other check lines data add_kernel.cubin
mv other/.triton home
check lines data add_kernel.cubin
mv home/.triton/cache cache

# Not what belongs to other code, or what anybody may write.
export TRITON_CACHE_DIR="$work/cache"
lay && sed 's/add.s32 \t%r14/sub.s32 \t%r14/' "$ptx" >cache/HASH/add_kernel.ptx
if cmp -s "$ptx" cache/HASH/add_kernel.ptx; then echo "nothing was changed" && exit 1; fi
check none data add_kernel.cubin
lay && printf x >>cache/HASH/add_kernel.cubin
check none data add_kernel.cubin
lay && printf x | dd of=cache/HASH/add_kernel.cubin bs=1 seek=8 conv=notrunc status=none # of the same size
check none data add_kernel.cubin
lay && chmod o+w cache/HASH/add_kernel.ptx
check none data add_kernel.cubin
lay && chmod o+w cache/HASH
check none data add_kernel.cubin
lay && mv cache/HASH away && ln -s ../away cache/HASH
check none data add_kernel.cubin
rm -rf away cache/HASH
lay && rm cache/HASH/add_kernel.ptx && mkfifo cache/HASH/add_kernel.ptx # nobody will ever write to it
check none data add_kernel.cubin
lay && rm cache/HASH/add_kernel.ptx && ln -s "$ptx" cache/HASH/add_kernel.ptx
check none data add_kernel.cubin
lay
check lines data add_kernel.cubin

# A cubin that ptxas made, alone and in a fatbin.
if command -v ptxas >/dev/null && ptxas -lineinfo -arch=sm_90a -o add_kernel.cubin "$ptx" 2>log; then
    lay
    check lines data add_kernel.cubin
    if command -v fatbinary >/dev/null &&
        fatbinary --64 --compress=false --create=all.fatbin --image3=kind=elf,sm=90a,file=add_kernel.cubin 2>log; then
        check none data all.fatbin
        echo "with a cubin of ptxas, alone and in a fatbin"
    fi
fi
