cd ../../.. && "$GLINT" ptx examples/linked_list/linked_list.ptx
