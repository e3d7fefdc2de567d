// SPDX-License-Identifier: Apache-2.0
// The page's program and style, which cmake/page.cmake makes from web/. Both are empty if they
// could not be built.
#include "html.h"

static const char script[] = ""
#include "page.js.inc"
    ;
static const char style[] = ""
#include "page.css.inc"
    ;

static const char job_text[] = ""
#include "job.js.inc"
    ;
static const char job_look[] = ""
#include "job.css.inc"
    ;

const char *const page_job_script = sizeof(job_text) > 1 ? job_text : NULL;
const char *const page_job_style = job_look;
const char *const page_script = sizeof(script) > 1 ? script : NULL;
const char *const page_style = style;
