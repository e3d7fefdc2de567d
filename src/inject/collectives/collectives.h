// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL: which collectives the program starts, in which communicator, on which stream, with
// how many bytes, and which objects they use.
//
// Nothing of NCCL is linked or included: glint leads the program's calls to itself where libraries
// import them (util/imports.h), and passes them on. Calls that NCCL makes itself, to its own
// functions and to the driver, are not calls of NCCL by the program; those to the driver are
// recorded as always.
#ifndef GLINT_INJECT_COLLECTIVES_COLLECTIVES_H
#define GLINT_INJECT_COLLECTIVES_COLLECTIVES_H

// Called when the program makes contexts, streams, events or loads device code, which it does
// before it uses NCCL. Finds libraries that were loaded meanwhile.
void collectives_look(void);

#endif
