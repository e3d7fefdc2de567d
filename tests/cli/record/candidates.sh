# What blocks load of objects in global memory, and which objects should be in shared memory. The means and weights of
# em are loaded once for each of up to 256 points, and the arrays of binomial once for each of 512 steps; blocks write
# only their own part of the latter. The versions that have them in shared memory load them once. Of jacobi, blocks load
# each element of the input less than four times. Of the first matrix of sgemm, the lanes of a warp load each element at
# once, and no other warp of the block does: nothing is saved.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
options="-O3 -g -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75"
for path in em/em em/em_fixed binomial/binomial binomial/binomial_fixed jacobi/jacobi jacobi/jacobi_fixed sgemm/sgemm; do
    name=${path#*/}
    # shellcheck disable=SC2086
    (cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/$name.run" examples/$path.cu $options) || exit 1
    "$GLINT" record -q -o $name.glint --device sim -a shared --no-cache -- ./$name.run >/dev/null
    echo "== $name: status $?"
    "$GLINT" query $name.glint "select k.name as kernel, o.name as object, s.line, r.blocks, r.blocks_looked_at as at,
        r.loads, r.loaded_bytes as moved, round(r.reuse, 2) as reuse, r.footprint_max_bytes as most, r.stores,
        r.extent_max_bytes as extent, r.apart, r.resident_blocks as resident, r.free_shared_bytes as free, r.complete
        from v_block_reuse r join v_objects o on o.number = r.object join v_kernels k on k.number = r.kernel
        left join v_kernel_sites s on s.kernel = r.kernel and s.number = r.site
        group by r.kernel, r.object order by r.call, r.object" | sed 's/([^)]*)//'
    COLUMNS=400 "$GLINT" report --verbose --pattern shared-candidate $name.glint | sed -n "/^ *[0-9]*\\. /,/gain:/p"
done

# Blocks are looked at in launches whose number is a power of two.
"$GLINT" record -q -o many.glint --device sim -a shared --no-cache -- ./jacobi.run 100 130 20 >/dev/null
"$GLINT" query many.glint "select rank from (select call, row_number() over (order by call) as rank from v_launches)
    where call in (select call from v_block_reuse)" | tr '\n' ' '
echo
# Of 150 blocks, 64.
"$GLINT" record -q -o wide.glint --device sim -a shared --no-cache -- ./binomial.run 150 20 1 >/dev/null
"$GLINT" query wide.glint "select o.name, r.blocks, r.blocks_looked_at, r.loads, r.apart, r.resident_blocks
    from v_block_reuse r join v_objects o on o.number = r.object order by o.number"
# The same from the simulated GPU's log of the program itself: launch, object, loads, different words, the most of a block.
cat >log.awk <<'END'
function lanes(mask,    i, sum) {
    for (i = 1; i <= length(mask); i++) sum += substr("0112122312232334", index("0123456789abcdef", substr(mask, i, 1)), 1)
    return sum
}
/^launch .* grid=/ {
    split(substr($6, 6), grid, ",")
    blocks = grid[1] * grid[2] * grid[3]
    looked = blocks < 64 ? blocks : 64
    split("", chosen)
    for (i = 0; i < looked; i++) chosen[int(i * blocks / looked)] = 1
}
/^access .* load global / {
    split("", is)
    for (i = 2; i <= NF; i++) if ((at = index($i, "="))) is[substr($i, 1, at - 1)] = substr($i, at + 1)
    if (!(is["block"] in chosen)) next
    split("offsets" in is ? is["offsets"] : "", offsets, ",")
    key = is["launch"] " " is["object"]
    for (i = 0; i < lanes(is["mask"]); i++) {
        first = "offsets" in is ? offsets[i + 1] : is["offset"] + i * is["step"]
        for (word = int(first / 4); word < (first + is["bytes"]) / 4; word++) {
            loads[key]++
            if (seen[key, is["block"], word]++) continue
            words[key]++
            if (++own[key, is["block"]] > most[key]) most[key] = own[key, is["block"]]
        }
    }
}
END { for (key in loads) print key, loads[key], words[key], most[key] }
END
as_the_log_says() { # NAME ARGUMENT...: what was recorded in NAME.glint
    glint=$1
    shift
    "$GLINT" run --device sim --sim-log log -- "$@" >/dev/null
    "$GLINT" sim-log --launches --accesses log | awk -f log.awk | grep -E "^(1|2|4|8|16) " | sort >logged
    "$GLINT" query $glint.glint "select rank, object, loads, cast(footprint_mean_bytes * blocks_looked_at / 4 as int),
        footprint_max_bytes / 4 from v_block_reuse join
        (select call, row_number() over (order by call) as rank from v_launches) using (call)" |
        tail -n +2 | tr '\t' ' ' | sort >told
    cmp told logged && [ -s told ] && echo "$glint: as the log says"
}
as_the_log_says jacobi ./jacobi.run
as_the_log_says sgemm ./sgemm.run
as_the_log_says wide ./binomial.run 150 20 1

# What a function loads that was not inlined is not counted.
# shellcheck disable=SC2086
(cd "$root" && NVCC=$nvcc tests/compile "$SCRATCH/functions.run" examples/device_functions/device_functions.cu $options) ||
    exit 1
"$GLINT" record -q -o functions.glint --device sim -a shared --no-cache -- ./functions.run >/dev/null
"$GLINT" query functions.glint "select count(*) from v_notes where text like
    'kernel %: what its blocks load of global memory is counted, but not accesses in %, which it calls'"
"$GLINT" query functions.glint "select distinct complete from v_block_reuse"
