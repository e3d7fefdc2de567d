// SPDX-License-Identifier: Apache-2.0
// The public header of src/ptx: parses PTX text into an IR and prints it, edits the IR, and
// analyses kernels statically. Other parts include this file; the headers below it hold the
// contracts.
#ifndef GLINT_PTX_PTX_H
#define GLINT_PTX_PTX_H

#include "affine.h"
#include "arrays.h"
#include "cfg.h"
#include "edit.h"
#include "edit_loops.h"
#include "facts.h"
#include "forms.h"
#include "ir.h"
#include "layout.h"
#include "matrices.h"
#include "provenance.h"
#include "sites.h"
#include "ssa.h"
#include "staging.h"
#include "tables.h"
#include "uniform.h"
#include "usage.h"
#include "warps.h"

#endif
