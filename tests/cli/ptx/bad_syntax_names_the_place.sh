cd "$SCRATCH" && printf '.version 8.0\n.target sm_80\n.entry k() {\n    add.s32 %%r1, %%r2, 3;\n}\n' >bad.ptx
"$GLINT" ptx bad.ptx
