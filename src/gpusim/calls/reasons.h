// SPDX-License-Identifier: Apache-2.0
// Why the simulated GPU does not have a function of the API, for the message that it prints.
#ifndef GLINT_GPUSIM_CALLS_REASONS_H
#define GLINT_GPUSIM_CALLS_REASONS_H

// Returns ": " and the reason, or "" if there is none but that nobody wrote it. The text is
// constant.
const char *calls_reason(const char *function);

#endif
