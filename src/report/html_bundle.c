// SPDX-License-Identifier: Apache-2.0
// The page's program and style, which cmake/page.cmake makes from web/. Where they could not be
// made, both are empty.
#include "html.h"

static const char script[] = ""
#include "page.js.inc"
    ;
static const char style[] = ""
#include "page.css.inc"
    ;

const char *const page_script = sizeof(script) > 1 ? script : NULL;
const char *const page_style = style;
