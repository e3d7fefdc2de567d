// SPDX-License-Identifier: Apache-2.0
// The code of one site's probe. Internal to src/instrument.
#ifndef GLINT_INSTRUMENT_PROBE_H
#define GLINT_INSTRUMENT_PROBE_H

#include "work.h"

// Writes the code, in a scope of its own; nothing if another probe marks this access too.
void instrument_emit_probe(struct instrument_work *work, const struct instrument_body *body,
                           const struct instrument_probe *probe);

// Writes the code that sets a register to the address plus `offset` bytes. The register's name is
// `into`, followed by the number unless that is INSTRUMENT_NONE.
void instrument_emit_address(struct base_buf *out, const struct ptx_operand *address,
                             const char *into, uint32_t number, int64_t offset);

// Writes the code that branches to the label unless the instruction is executed.
void instrument_emit_unless(struct base_buf *out, const struct ptx_instr *instr, uint32_t past);

// Writes the code that branches to the label if the address in %glint$a is in a space that has no
// objects.
void instrument_emit_space_check(struct instrument_work *work, uint32_t past);

// Writes the code that sets %glint$r0 to the bytes that an instruction of variable size touches,
// and branches to the label if there are none.
void instrument_emit_size(struct instrument_work *work, const struct instrument_probe *probe,
                          uint32_t past);

// Writes the code that looks up each access that is marked as one with the probe.
void instrument_emit_slow(struct instrument_work *work, const struct instrument_body *body,
                          const struct instrument_probe *probe);

// Returns what a site does: bit 0 reads, bit 1 writes.
static inline uint32_t instrument_kinds(const struct ptx_site *site)
{
    return site->access == PTX_ACCESS_LOAD ? 1 : site->access == PTX_ACCESS_STORE ? 2 : 3;
}

// Returns the argument of glint$access that describes an access: bits 0 and 1 are its kinds, bits 2
// to 7 the step from lane to lane, the bits from 8 on 1 + the root, or 0 for INSTRUMENT_NONE.
static inline uint32_t instrument_access_word(uint32_t root, uint32_t kinds, uint32_t step)
{
    return (root + 1) << 8 | step << 2 | kinds; // INSTRUMENT_NONE + 1 is 0
}

#endif
