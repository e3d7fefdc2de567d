printf '.version 8.0\n.target sm_80 .address_size 64\n.visible .entry k(.param .u64 p) { .reg .b64 %%rd<3>;\nld.param.u64 %%rd1,[p]; st.u64 [ %%rd1 + 8 ] , -1 ; ret ; } // end\n' >"$SCRATCH/k.ptx"
"$GLINT" ptx --format ptx "$SCRATCH/k.ptx"
