// SPDX-License-Identifier: Apache-2.0
// Runs a plan: a copy to dense complex numbers, passes along each dimension between the halves of
// the work area, and a copy to the result.
#include <stdio.h>

#include "plan.h"

static const char transform_ptx[] = ""
#include "cufft_transform.ptx.inc"
    ;

// A run: where the numbers are, and where the next pass puts them.
struct cufft_run {
    struct cufft_plan *plan;
    uint64_t from, to;
    int inverse;
};

static int launch(const struct cufft_run *run, const char *name, int64_t threads, void *parameter)
{
    char kernel[64];
    snprintf(kernel, sizeof(kernel), "cufft_%c%s", cufft_is_double(run->plan->type) ? 'z' : 'c',
             name);
    const struct common_launch about = {.ptx = transform_ptx,
                                        .kernel = kernel,
                                        .blocks = common_blocks((uint64_t)threads, CUFFT_THREADS),
                                        .threads = CUFFT_THREADS,
                                        .stream = run->plan->stream,
                                        .parameter = parameter};
    return common_launch(&about) == CUDA_SUCCESS ? CUFFT_OK : CUFFT_EXEC_FAILED;
}

static void turn(struct cufft_run *run)
{
    const uint64_t from = run->from;
    run->from = run->to;
    run->to = from;
}

// --- Along one dimension -------------------------------------------------------------------------

// Transforms `rows` rows of `length` numbers that are `inner` apart. Their factors are small.
static int run_passes(struct cufft_run *run, int64_t rows, int64_t length, int64_t inner,
                      uint64_t roots, int inverse)
{
    struct cufft_pass pass = {.roots = roots,
                              .count = rows * length,
                              .length = length,
                              .inner = inner,
                              .before = 1,
                              .inverse = inverse};
    int status = CUFFT_OK;
    for (int64_t left = length; left > 1 && !status; left /= pass.radix) {
        pass.radix = left % 4 == 0 ? 4 : 2;
        while (left % pass.radix)
            pass.radix++;
        pass.from = run->from;
        pass.to = run->to;
        if (pass.radix == 4)
            status = launch(run, "radix4", pass.count / 4, &pass);
        else if (pass.radix == 2)
            status = launch(run, "radix2", pass.count / 2, &pass);
        else
            status = launch(run, "radix", pass.count, &pass);
        pass.before *= pass.radix;
        turn(run);
    }
    return status;
}

// The same for any length: y[k] = chirp[k] * sum of x[j] * chirp[j] * conj(chirp[k - j]). The
// inverse is that with the conjugate chirp, whose transform is conjugate, too, because a chirp is
// symmetric.
static int run_chirp(struct cufft_run *run, int64_t rows, const struct cufft_axis *axis,
                     int64_t inner)
{
    struct cufft_chirp chirp = {.from = run->from,
                                .to = run->to,
                                .factors = axis->chirp,
                                .count = rows * axis->padded,
                                .length = axis->length,
                                .padded = axis->padded,
                                .inner = inner,
                                .scale = 1.0 / (double)axis->padded,
                                .inverse = run->inverse};
    int status = launch(run, "chirp_in", chirp.count, &chirp);
    turn(run);
    if (!status)
        status = run_passes(run, rows, axis->padded, inner, axis->roots, 0);
    chirp.to = run->from;
    chirp.factors = axis->chirp_transform;
    if (!status)
        status = launch(run, "chirp_multiply", chirp.count, &chirp);
    if (!status)
        status = run_passes(run, rows, axis->padded, inner, axis->roots, 1);
    chirp.from = run->from;
    chirp.to = run->to;
    chirp.factors = axis->chirp;
    chirp.count = rows * axis->length;
    if (!status)
        status = launch(run, "chirp_out", chirp.count, &chirp);
    turn(run);
    return status;
}

// --- Layouts -------------------------------------------------------------------------------------

// How many numbers the last dimension has in memory.
static int64_t width_of(const struct cufft_plan *plan, enum cufft_form form, bool in_place)
{
    const int64_t n = plan->n[CUFFT_RANK - 1];
    if (form == CUFFT_HALF)
        return n / 2 + 1;
    return form == CUFFT_REAL && in_place ? 2 * (n / 2 + 1) : n;
}

static struct cufft_copy copy_of(const struct cufft_plan *plan, const struct cufft_side *side,
                                 enum cufft_form form, bool in_place, const void *user,
                                 uint64_t dense)
{
    struct cufft_copy copy = {.user = (uint64_t)(uintptr_t)user,
                              .dense = dense,
                              .count = plan->n[0] * plan->n[1] * plan->n[2] * plan->batch,
                              .form = (int32_t)form};
    int64_t step = side->is_given ? side->stride : 1;
    for (int i = CUFFT_RANK - 1; i >= 0; i--) {
        copy.n[i] = plan->n[i];
        copy.step[i] = step;
        if (side->is_given)
            step *= side->embed[i];
        else
            step *= i == CUFFT_RANK - 1 ? width_of(plan, form, in_place) : plan->n[i];
    }
    copy.batch_step = side->is_given ? side->distance : step;
    return copy;
}

static enum cufft_form form_of(enum cufft_type type, bool is_input)
{
    switch (type) {
    case CUFFT_R2C:
    case CUFFT_D2Z: return is_input ? CUFFT_REAL : CUFFT_HALF;
    case CUFFT_C2R:
    case CUFFT_Z2D: return is_input ? CUFFT_HALF : CUFFT_REAL;
    default: return CUFFT_COMPLEX;
    }
}

int cufft_run(struct cufft_plan *plan, const void *in, void *out, int direction)
{
    struct cufft_run run = {.plan = plan,
                            .from = plan->area,
                            .to = plan->area + plan->work_bytes / 2,
                            .inverse = direction == 1};
    struct cufft_copy copy =
        copy_of(plan, &plan->in, form_of(plan->type, true), in == out, in, run.from);
    int status = launch(&run, "gather", copy.count, &copy);
    int64_t inner = 1;
    for (int i = CUFFT_RANK - 1; i >= 0 && !status; i--) {
        const struct cufft_axis *const axis = &plan->axes[i];
        // Numbers of all rows, beside those along the dimension.
        const int64_t rows = copy.count / axis->length;
        if (axis->padded)
            status = run_chirp(&run, rows, axis, inner);
        else
            status = run_passes(&run, rows, axis->length, inner, axis->roots, run.inverse);
        inner *= axis->length;
    }
    copy = copy_of(plan, &plan->out, form_of(plan->type, false), in == out, out, run.from);
    return status ? status : launch(&run, "scatter", copy.count, &copy);
}
