cd ../../.. && "$GLINT" ptx --kernels '^clear' examples/linked_list/linked_list.ptx
