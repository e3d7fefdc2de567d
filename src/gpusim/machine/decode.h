// SPDX-License-Identifier: Apache-2.0
// Decodes functions from PTX, and declares what the instruction families (families.h) use for that:
// slots of registers and constants, addresses, and refusals. When memory runs out, a function that
// returns no error code leaves by the escape of the decoder's arena.
#ifndef GLINT_GPUSIM_MACHINE_DECODE_H
#define GLINT_GPUSIM_MACHINE_DECODE_H

#include "machine.h"

// Decodes the body of code->function. BASE_NO_MEMORY; BASE_UNSUPPORTED, with instruction and line
// in the message, if the machine cannot execute it.
enum base_code sim_code_decode(struct sim_module *module, struct sim_code *code,
                               struct base_error *error);

// Bytes of a lane in a slot.
enum { NARROW = 4, WIDE = 8, WIDEST = 16 };

struct sim_decoder {
    struct sim_module *module;
    struct sim_code *code;
    struct base_arena *arena;
    struct base_arena scratch; // freed when the function is decoded
    struct base_error *error;
    slot *slots;                                // by register id
    const struct sim_contraction *contractions; // by instruction index
    BASE_ARRAY(unsigned char) pool;
    struct base_map constants; // bits and width to slot
    struct base_map params;    // struct ptx_var to 1 + offset among the frame's parameters
    struct base_map locals;    // struct ptx_var to 1 + offset, of .local variables
    uint32_t passed_from;      // end of the parameters; registers that calls pass follow
    uint32_t passed_to;        // end of the registers that the current call passes
};

// A sum that is computed together with a product that precedes it in its basic block.
struct sim_contraction {
    // NULL: the instruction is not contracted. The instruction itself: a product that is not
    // computed, because only contracted sums use it.
    const struct ptx_instr *product;
    uint8_t addend; // index of the sum's other operand
    bool negate_product, negate_addend;
};

// Finds contractions (contract.c). Returns an array by instruction index, in the arena.
const struct sim_contraction *sim_decode_contractions(const struct ptx_module *module,
                                                      const struct ptx_ssa *ssa,
                                                      struct base_arena *arena);
// Assigns slots to the function's registers (slots.c): fills code->register_bytes, slot_bytes,
// lives and last_place, and *out with the slots by register id. `keeps` holds the lives, `arena`
// the slots.
void sim_decode_slots(const struct ptx_ssa *ssa, const struct sim_contraction *contractions,
                      struct base_arena *arena, struct base_arena *keeps, slot **out,
                      struct sim_code *code);
// Returns the slot of a register operand; refuses other operands.
slot sim_decode_register(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_operand *operand);
// Returns the slot of a source operand: a register, or a constant converted to the type.
slot sim_decode_typed(struct sim_decoder *decoder, const struct ptx_instr *instr,
                      const struct ptx_operand *operand, enum ptx_type type);
slot sim_decode_constant(struct sim_decoder *decoder, uint64_t bits, unsigned lane_bytes);
// Returns the slot of a destination, NO_SLOT for the sink `_`.
slot sim_decode_target(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       const struct ptx_operand *operand);
// Fills an op that reads a special register into op->d, op->bytes for each lane. Returns false if
// the machine does not have the register (ops_move.c).
bool sim_decode_special(const struct ptx_operand *operand, struct sim_uop *op);
// Returns the slot of a predicate operand, and whether the operand is negated.
slot sim_decode_predicate(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          const struct ptx_operand *operand, bool *negated);
// Returns the bytes of a lane in a register of that type.
unsigned sim_decode_lane_bytes(enum ptx_type type);
// Decodes the address in [ ]: sets op->a, op->offset and ADDRESS_* in op->flags.
void sim_decode_address(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        const struct ptx_operand *operand, struct sim_uop *op);
// Returns the operand's offset in bytes from its variable; the index in a[3] counts elements.
int64_t sim_decode_var_offset(const struct ptx_operand *operand);
// Stores a variable's address. Returns true if it is a constant, false if relative to the frame.
bool sim_decode_variable(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_var *var, uint64_t *value);

// Returns whether the operand is a parameter of the kernel, or an address in one. Those lie in the
// launch's buffer; all others of .param space lie in frames.
bool sim_decode_kernel_param(const struct sim_decoder *decoder, const struct ptx_operand *operand);

enum {
    ADDRESS_WIDE = 1,     // the base is a 64-bit register
    ADDRESS_NONE = 2,     // no base register
    ADDRESS_FRAME = 4,    // relative to the frame's .local variables
    ADDRESS_PARAM = 8,    // among the frame's parameters
    ADDRESS_INDEXED = 16, // with ADDRESS_NONE: op->a counts elements of op->rejoin bytes
    ADDRESS_CLUSTER = 32, // shared memory of any block of the cluster
};

// Leaves decoding with BASE_UNSUPPORTED; the message names the instruction and its line.
_Noreturn void sim_decode_refuse(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                 const char *why);
// The same with the message "NAME, why".
_Noreturn void sim_decode_refuse_name(struct sim_decoder *decoder, const struct ptx_instr *instr,
                                      const char *name, const char *why);

#endif
