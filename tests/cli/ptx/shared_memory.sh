# Fills and drains, many loads at once, arrays that are not known, and matrices by descriptors.
../../../scripts/have jq >/dev/null || exit 77
cat > "$SCRATCH/k.ptx" <<'PTX'
.version 8.6
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 stages[];
.global .u64 made;
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<9>;
    .reg .pred %p;
    .shared .align 16 .b8 tile[1024];
    .shared .align 16 .b8 other[1024];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p, %r1, 9;
    mov.u32 %r2, tile;
    mov.u32 %r3, other;
    mad.lo.u32 %r4, %r1, 4, %r2;
    mov.f32 %f1, 0f00000000;
    @%p ld.global.f32 %f1, [%rd1];
    st.shared.f32 [%r4], %f1;
    ld.global.f32 %f2, [%rd1+4];
    ld.global.f32 %f3, [%rd1+8];
    selp.f32 %f4, %f1, %f2, %p;
    st.shared.f32 [%r4], %f4;
    st.shared.v4.f32 [tile], {%f1, %f2, %f3, 0f00000000};
    add.f32 %f2, %f2, %f3;
    st.shared.f32 [%r4+4], %f2;
    ld.shared.f32 %f5, [%r4+16];
    st.global.f32 [%rd2], %f5;
    cp.async.ca.shared.global [tile+16], [%rd1+16], 16;
    selp.b32 %r5, %r2, %r3, %p;
    st.shared.f32 [%r5], %f1;
    mapa.shared::cluster.u32 %r6, %r2, 0;
    ld.shared::cluster.f32 %f6, [%r6];
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r7}, [tile];
    mov.u32 %r8, stages;
    shr.u32 %r8, %r8, 4;
    cvt.u64.u32 %rd3, %r8;
    ld.global.u64 %rd4, [made];
    ld.u32 %r9, [%rd4];
    wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r10, %r11}, %rd3, %rd4, 1, 1, 1, 0, 0;
    ret;
}
PTX
"$GLINT" ptx "$SCRATCH/k.ptx" | sed -n '/^  shared/,$p'
"$GLINT" ptx --format json "$SCRATCH/k.ptx" |
    jq -c '.kernels[] | (.sites[] | select(.array or .staging) | [.id, .ptx_line, .array, .staging]), .matrix_descriptors[]'
