// SPDX-License-Identifier: Apache-2.0
// The public face of src/ptx: PTX text to IR and back, edits of the IR, and what can be known of a
// kernel without running it. The inner headers hold one contract each; other parts include this
// file.
#ifndef GLINT_PTX_PTX_H
#define GLINT_PTX_PTX_H

#include "affine.h"
#include "cfg.h"
#include "edit.h"
#include "facts.h"
#include "ir.h"
#include "provenance.h"
#include "sites.h"
#include "ssa.h"
#include "tables.h"
#include "uniform.h"
#include "usage.h"

#endif
