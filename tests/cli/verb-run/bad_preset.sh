"$GLINT" run --device sim:gtx1 -- true
