// SPDX-License-Identifier: Apache-2.0
// Adds probes to any bytes as PTX. The result must parse, contain every clone that its table names,
// and survive serialization unchanged. Also reads any bytes as a serialized module.
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "instrument/instrument.h"
#include "ptx/ptx.h"

enum { LIMIT_BYTES = 32 << 20 };

static void check_text(const struct instrument_module *module)
{
    struct ptx_module *ptx;
    struct base_error error = {0};
    enum base_code code =
        ptx_parse_within(module->ptx, module->ptx_bytes, "output", LIMIT_BYTES * 4, &ptx, &error);
    if (code == BASE_NO_MEMORY)
        return;
    if (code != BASE_OK)
        abort();
    for (uint32_t i = 0; i < module->kernel_count; i++) {
        const struct instrument_kernel *kernel = &module->kernels[i];
        if (!kernel->clone && !kernel->reason)
            abort();
        if (kernel->clone && !ptx_function_find(ptx, kernel->clone))
            abort();
    }
    ptx_module_destroy(ptx);
}

static void check_bytes(const struct instrument_module *module)
{
    struct base_buf once = {0}, twice = {0};
    struct instrument_module *again;
    if (!instrument_save(module, &once) ||
        instrument_load(once.text, once.length, &again, NULL) != BASE_OK ||
        !instrument_save(again, &twice) || once.length != twice.length ||
        memcmp(once.text, twice.text, once.length) != 0)
        abort();
    instrument_destroy(again);
    base_buf_fini(&once);
    base_buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t levels[] = {INSTRUMENT_OBJECTS, INSTRUMENT_ELEMENTS,
                                      INSTRUMENT_ELEMENTS | INSTRUMENT_COUNTS};
    struct instrument_module *module;
    for (unsigned i = 0; i < 3; i++) {
        struct instrument_request request = {
            .facts = levels[i], .limit_bytes = LIMIT_BYTES, .gpu = 90};
        struct base_error error = {0};
        enum base_code code = instrument_ptx((const char *)data, size, &request, &module, &error);
        if (code != BASE_OK) {
            if (module || error.code != code)
                abort();
            continue;
        }
        check_text(module);
        check_bytes(module);
        instrument_destroy(module);
    }
    if (instrument_load(data, size, &module, NULL) == BASE_OK)
        instrument_destroy(module);
    return 0;
}
