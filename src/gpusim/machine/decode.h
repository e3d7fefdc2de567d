// SPDX-License-Identifier: Apache-2.0
// What the chooser of handlers for each family of instructions works with: slots of registers and
// constants, addresses, and refusal. Internal.
#ifndef GLINT_GPUSIM_MACHINE_DECODE_H
#define GLINT_GPUSIM_MACHINE_DECODE_H

#include "machine.h"

// Width of a lane in a slot.
enum { NARROW = 4, WIDE = 8, WIDEST = 16 };

struct sim_decoder {
    struct sim_module *module;
    struct sim_code *code;
    struct base_arena *arena;
    struct base_arena scratch; // until the function is decoded
    struct base_error *error;
    slot *slots;                                // by register id
    const struct sim_contraction *contractions; // by instruction index
    BASE_ARRAY(unsigned char) pool;
    struct base_map constants; // bits and width to slot
    struct base_map params;    // struct ptx_var to 1 + its offset among the frame's parameters
    struct base_map locals;    // the same for .local variables
    uint32_t passed_from;      // behind these: registers that a call passes, the same for all calls
    uint32_t passed_to;        // how far the call that is being decoded has come
};

// A sum that is computed as one fma with a product before it in its block.
struct sim_contraction {
    const struct ptx_instr *product; // NULL: none; the instruction itself: a product that only sums
                                     // need, which compute it
    uint8_t addend;                  // the operand that is added to it
    bool negate_product, negate_addend;
};

// By instruction index, in the arena.
const struct sim_contraction *sim_decode_contractions(const struct ptx_module *module,
                                                      const struct ptx_ssa *ssa,
                                                      struct base_arena *arena);
// Places the function's registers: fills code->register_bytes, slot_bytes, lives and last_place.
// Lives are in the arena `keeps`, the slots, by register id, in the other. Memory that runs out
// leaves by their escape.
void sim_decode_slots(const struct ptx_ssa *ssa, const struct sim_contraction *contractions,
                      struct base_arena *arena, struct base_arena *keeps, slot **out,
                      struct sim_code *code);
// The slot of a register operand; refuses anything else.
slot sim_decode_register(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_operand *operand);
// The slot of a source: a register, or a constant as the type sees it.
slot sim_decode_typed(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      const struct ptx_operand *operand, enum ptx_type type);
slot sim_decode_constant(struct sim_decoder *decoder, uint64_t bits, unsigned lane_bytes);
// The destination, perhaps a sink: NO_SLOT then.
slot sim_decode_target(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       const struct ptx_operand *operand);
// Fills an op that reads a special register into op->d, of op->bytes a lane; false: it is not
// there.
bool sim_decode_special(const struct ptx_operand *operand, struct sim_uop *op);
// The predicate operand with its negation folded away is not possible: gives slot, and whether
// negated.
slot sim_decode_predicate(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          const struct ptx_operand *operand, bool *negated);
// Bytes of a lane in a register of that type.
unsigned sim_decode_lane_bytes(enum ptx_type type);
// The address in [ ]: sets a, offset and ADDRESS_* in flags.
void sim_decode_address(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        const struct ptx_operand *operand, struct sim_uop *op);
// Bytes behind the start of the operand's variable: a[3] counts elements.
int64_t sim_decode_var_offset(const struct ptx_operand *operand);
// A variable's value as an address: true where it is a constant, else it is relative to the frame.
bool sim_decode_variable(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_var *var, uint64_t *value);

// Whether the operand is a parameter that the kernel is launched with, or an address in it. Those
// lie in the launch's buffer, all others of .param space in frames.
bool sim_decode_kernel_param(const struct sim_decoder *decoder, const struct ptx_operand *operand);

enum {
    ADDRESS_WIDE = 1,     // the base is a 64-bit register
    ADDRESS_NONE = 2,     // there is no base
    ADDRESS_FRAME = 4,    // relative to the frame's .local variables
    ADDRESS_PARAM = 8,    // among the frame's parameters
    ADDRESS_INDEXED = 16, // with ADDRESS_NONE: the register counts elements of op->rejoin bytes
};

_Noreturn void sim_decode_refuse(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const char *why);
// The same, of something by its name: "NAME, why".
_Noreturn void sim_decode_refuse_name(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                      const char *name, const char *why);

#endif
