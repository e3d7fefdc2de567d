# Columns of an array without and with padding, every other word, pairs, and lanes in reverse order.
cat > "$SCRATCH/k.ptx" <<'PTX'
.version 8.0
.target sm_80
.address_size 64
.visible .entry k()
.reqntid 32, 8
{
    .reg .b32 %r<9>;
    .reg .f32 %f<3>;
    .shared .align 8 .b8 tile[8448];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, tile;
    mad.lo.u32 %r4, %r1, 128, %r3;
    ld.shared.f32 %f1, [%r4];
    mad.lo.u32 %r4, %r1, 132, %r3;
    ld.shared.f32 %f1, [%r4];
    mad.lo.u32 %r4, %r1, 8, %r3;
    st.shared.f32 [%r4], %f1;
    ld.shared.v2.f32 {%f1, %f2}, [%r4];
    mad.lo.u32 %r4, %r2, 8, %r3;
    ld.shared.v2.f32 {%f1, %f2}, [%r4];
    mul.lo.u32 %r4, %r1, -8;
    add.u32 %r4, %r3, %r4;
    ld.shared.f32 %f1, [%r4+248];
    ret;
}
PTX
"$GLINT" ptx "$SCRATCH/k.ptx" | grep -A9 'a warp takes'
"$GLINT" ptx --block 16x16 "$SCRATCH/k.ptx" | grep -A9 'a warp takes'
