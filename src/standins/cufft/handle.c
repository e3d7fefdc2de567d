// SPDX-License-Identifier: Apache-2.0
// The functions of cuFFT that make plans and run them.
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "plan.h"

// All mutable state. The lock protects the list and is held only for looking into it.
static struct {
    pthread_mutex_t lock;
    struct cufft_plan *plans;
    int last; // the last handle that was given out
} cufft = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool cufft_is_double(enum cufft_type type)
{
    return type == CUFFT_D2Z || type == CUFFT_Z2D || type == CUFFT_Z2Z;
}

static struct cufft_plan *find(int handle)
{
    pthread_mutex_lock(&cufft.lock);
    struct cufft_plan *plan = cufft.plans;
    while (plan && plan->handle != handle)
        plan = plan->next;
    pthread_mutex_unlock(&cufft.lock);
    return plan;
}

COMMON_API int cufftCreate(int *handle)
{
    if (!handle)
        return CUFFT_INVALID_VALUE;
    if (common_context() != CUDA_SUCCESS)
        return CUFFT_SETUP_FAILED;
    struct cufft_plan *const plan = calloc(1, sizeof(*plan));
    if (!plan)
        return CUFFT_ALLOC_FAILED;
    pthread_mutex_lock(&cufft.lock);
    *handle = plan->handle = ++cufft.last;
    plan->next = cufft.plans;
    cufft.plans = plan;
    pthread_mutex_unlock(&cufft.lock);
    return CUFFT_OK;
}

COMMON_API int cufftDestroy(int handle)
{
    pthread_mutex_lock(&cufft.lock);
    struct cufft_plan **at = &cufft.plans;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    struct cufft_plan *const plan = *at;
    if (plan)
        *at = plan->next;
    pthread_mutex_unlock(&cufft.lock);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (plan->tables)
        cuMemFree_v2(plan->tables);
    if (plan->work)
        cuMemFree_v2(plan->work);
    free(plan);
    return CUFFT_OK;
}

// --- Making plans --------------------------------------------------------------------------------

// The arguments of the function with the most of them.
struct cufft_request {
    int rank;
    int64_t n[CUFFT_RANK], in_embed[CUFFT_RANK], out_embed[CUFFT_RANK];
    bool has_in, has_out;
    int64_t in_stride, in_distance, out_stride, out_distance;
    int type;
    int64_t batch;
};

static struct cufft_side side_of(const struct cufft_request *request, bool is_given,
                                 const int64_t *embed, int64_t stride, int64_t distance)
{
    struct cufft_side side = {
        .is_given = is_given, .embed = {1, 1, 1}, .stride = stride, .distance = distance};
    for (int i = 0; i < request->rank; i++)
        side.embed[CUFFT_RANK - request->rank + i] = embed[i];
    return side;
}

// Sets what a plan transforms.
static int describe(const struct cufft_request *request, struct cufft_plan *plan)
{
    if (request->rank < 1 || request->rank > CUFFT_RANK || request->batch < 1)
        return CUFFT_INVALID_SIZE;
    switch (request->type) {
    case CUFFT_C2C:
    case CUFFT_R2C:
    case CUFFT_C2R:
    case CUFFT_Z2Z:
    case CUFFT_D2Z:
    case CUFFT_Z2D: break;
    default: return CUFFT_INVALID_TYPE;
    }
    plan->type = (enum cufft_type)request->type;
    plan->rank = request->rank;
    plan->batch = request->batch;
    double total = (double)request->batch;
    for (int i = 0; i < CUFFT_RANK; i++)
        plan->n[i] = 1;
    for (int i = 0; i < request->rank; i++) {
        if (request->n[i] < 1)
            return CUFFT_INVALID_SIZE;
        plan->n[CUFFT_RANK - request->rank + i] = request->n[i];
        total *= (double)request->n[i];
    }
    if (total > (double)INT_MAX * CUFFT_THREADS / 4)
        return CUFFT_INVALID_SIZE;
    // As cuFFT has it, the layout counts only if the sizes of both sides are given.
    const bool is_given = request->has_in && request->has_out;
    plan->in =
        side_of(request, is_given, request->in_embed, request->in_stride, request->in_distance);
    plan->out =
        side_of(request, is_given, request->out_embed, request->out_stride, request->out_distance);
    return CUFFT_OK;
}

static int make(int handle, const struct cufft_request *request, size_t *work_bytes)
{
    struct cufft_plan *const plan = find(handle);
    if (!plan || plan->is_made)
        return CUFFT_INVALID_PLAN;
    int status = describe(request, plan);
    if (!status && common_context() != CUDA_SUCCESS)
        status = CUFFT_SETUP_FAILED;
    if (!status)
        status = cufft_make_tables(plan);
    if (status)
        return status;
    plan->work_bytes = cufft_work_bytes(plan);
    if (work_bytes)
        *work_bytes = plan->work_bytes;
    if (!plan->no_allocation) {
        if (cuMemAlloc_v2(&plan->work, plan->work_bytes) != CUDA_SUCCESS)
            return CUFFT_ALLOC_FAILED;
        plan->area = plan->work;
    }
    plan->is_made = true;
    return CUFFT_OK;
}

static int estimate(const struct cufft_request *request, size_t *work_bytes)
{
    struct cufft_plan plan = {0};
    if (!work_bytes)
        return CUFFT_INVALID_VALUE;
    const int status = describe(request, &plan);
    if (!status)
        *work_bytes = cufft_work_bytes(&plan);
    return status;
}

static struct cufft_request plain(int rank, int64_t nx, int64_t ny, int64_t nz, int type,
                                  int64_t batch)
{
    return (struct cufft_request){.rank = rank, .n = {nx, ny, nz}, .type = type, .batch = batch};
}

// Creates a plan and makes it.
static int create(int *handle, const struct cufft_request *request)
{
    int status = cufftCreate(handle);
    if (status)
        return status;
    status = make(*handle, request, NULL);
    if (status)
        cufftDestroy(*handle);
    return status;
}

// Reads arrays of int or long long.
static int64_t number_at(const void *array, int i, bool is_wide)
{
    return is_wide ? ((const long long *)array)[i] : ((const int *)array)[i];
}

static struct cufft_request many(int rank, const void *n, const void *in_embed, int64_t in_stride,
                                 int64_t in_distance, const void *out_embed, int64_t out_stride,
                                 int64_t out_distance, int type, int64_t batch, bool is_wide)
{
    struct cufft_request request = {.rank = n ? rank : 0,
                                    .has_in = in_embed != NULL,
                                    .has_out = out_embed != NULL,
                                    .in_stride = in_stride,
                                    .in_distance = in_distance,
                                    .out_stride = out_stride,
                                    .out_distance = out_distance,
                                    .type = type,
                                    .batch = batch};
    for (int i = 0; i < rank && i < CUFFT_RANK && n; i++) {
        request.n[i] = number_at(n, i, is_wide);
        request.in_embed[i] = in_embed ? number_at(in_embed, i, is_wide) : 0;
        request.out_embed[i] = out_embed ? number_at(out_embed, i, is_wide) : 0;
    }
    return request;
}

COMMON_API int cufftPlan1d(int *plan, int nx, int type, int batch)
{
    const struct cufft_request request = plain(1, nx, 0, 0, type, batch);
    return create(plan, &request);
}

COMMON_API int cufftPlan2d(int *plan, int nx, int ny, int type)
{
    const struct cufft_request request = plain(2, nx, ny, 0, type, 1);
    return create(plan, &request);
}

COMMON_API int cufftPlan3d(int *plan, int nx, int ny, int nz, int type)
{
    const struct cufft_request request = plain(3, nx, ny, nz, type, 1);
    return create(plan, &request);
}

COMMON_API int cufftPlanMany(int *plan, int rank, int *n, int *in_embed, int in_stride,
                             int in_distance, int *out_embed, int out_stride, int out_distance,
                             int type, int batch)
{
    const struct cufft_request request = many(rank, n, in_embed, in_stride, in_distance, out_embed,
                                              out_stride, out_distance, type, batch, false);
    return create(plan, &request);
}

// Sizes for a plan that exists already, or for one that might: NAME(plan, ..., work_bytes).
#define SIZED(run, Name1, Name2, Name3, plan_parameter, plan_argument)                        \
    COMMON_API int Name1(plan_parameter int nx, int type, int batch, size_t *work_bytes)      \
    {                                                                                         \
        const struct cufft_request request = plain(1, nx, 0, 0, type, batch);                 \
        return run(plan_argument & request, work_bytes);                                      \
    }                                                                                         \
    COMMON_API int Name2(plan_parameter int nx, int ny, int type, size_t *work_bytes)         \
    {                                                                                         \
        const struct cufft_request request = plain(2, nx, ny, 0, type, 1);                    \
        return run(plan_argument & request, work_bytes);                                      \
    }                                                                                         \
    COMMON_API int Name3(plan_parameter int nx, int ny, int nz, int type, size_t *work_bytes) \
    {                                                                                         \
        const struct cufft_request request = plain(3, nx, ny, nz, type, 1);                   \
        return run(plan_argument & request, work_bytes);                                      \
    }
#define MANY(run, Name, type_of_n, stride_type, is_wide, plan_parameter, plan_argument)          \
    COMMON_API int Name(plan_parameter int rank, type_of_n *n, type_of_n *in_embed,              \
                        stride_type in_stride, stride_type in_distance, type_of_n *out_embed,    \
                        stride_type out_stride, stride_type out_distance, int type,              \
                        stride_type batch, size_t *work_bytes)                                   \
    {                                                                                            \
        const struct cufft_request request =                                                     \
            many(rank, n, in_embed, in_stride, in_distance, out_embed, out_stride, out_distance, \
                 type, batch, is_wide);                                                          \
        return run(plan_argument & request, work_bytes);                                         \
    }
#define COMMA ,

static int estimate_for(int plan, const struct cufft_request *request, size_t *work_bytes)
{
    return find(plan) ? estimate(request, work_bytes) : CUFFT_INVALID_PLAN;
}

SIZED(make, cufftMakePlan1d, cufftMakePlan2d, cufftMakePlan3d, int plan COMMA, plan COMMA)
SIZED(estimate_for, cufftGetSize1d, cufftGetSize2d, cufftGetSize3d, int plan COMMA, plan COMMA)
SIZED(estimate, cufftEstimate1d, cufftEstimate2d, cufftEstimate3d, , )
MANY(make, cufftMakePlanMany, int, int, false, int plan COMMA, plan COMMA)
MANY(make, cufftMakePlanMany64, long long, long long, true, int plan COMMA, plan COMMA)
MANY(estimate_for, cufftGetSizeMany, int, int, false, int plan COMMA, plan COMMA)
MANY(estimate_for, cufftGetSizeMany64, long long, long long, true, int plan COMMA, plan COMMA)
MANY(estimate, cufftEstimateMany, int, int, false, , )

// The cufftType for two values of cudaDataType; 0: none, or one of other types.
static int type_of(int in, int out)
{
    enum { R_32F = 0, R_64F = 1, C_32F = 4, C_64F = 5 };
    if (in == C_32F)
        return out == C_32F ? CUFFT_C2C : out == R_32F ? CUFFT_C2R : 0;
    if (in == C_64F)
        return out == C_64F ? CUFFT_Z2Z : out == R_64F ? CUFFT_Z2D : 0;
    if (in == R_32F)
        return out == C_32F ? CUFFT_R2C : 0;
    return in == R_64F && out == C_64F ? CUFFT_D2Z : 0;
}

#define XT_MANY(Name, run)                                                                       \
    COMMON_API int Name(int plan, int rank, long long *n, long long *in_embed,                   \
                        long long in_stride, long long in_distance, int in_type,                 \
                        long long *out_embed, long long out_stride, long long out_distance,      \
                        int out_type, long long batch, size_t *work_bytes, int computed_type)    \
    {                                                                                            \
        (void)computed_type;                                                                     \
        if (!type_of(in_type, out_type))                                                         \
            return COMMON_REFUSE(#Name " with these types", CUFFT_NOT_SUPPORTED);                \
        const struct cufft_request request =                                                     \
            many(rank, n, in_embed, in_stride, in_distance, out_embed, out_stride, out_distance, \
                 type_of(in_type, out_type), batch, true);                                       \
        return run(plan, &request, work_bytes);                                                  \
    }
XT_MANY(cufftXtMakePlanMany, make)
XT_MANY(cufftXtGetSizeMany, estimate_for)

// --- Settings ------------------------------------------------------------------------------------

COMMON_API int cufftSetStream(int handle, CUstream stream)
{
    struct cufft_plan *const plan = find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->stream = stream;
    return CUFFT_OK;
}

COMMON_API int cufftSetAutoAllocation(int handle, int automatic)
{
    struct cufft_plan *const plan = find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->no_allocation = !automatic;
    return CUFFT_OK;
}

COMMON_API int cufftSetWorkArea(int handle, void *area)
{
    struct cufft_plan *const plan = find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->area = (uint64_t)(uintptr_t)area;
    if (plan->work)
        cuMemFree_v2(plan->work);
    plan->work = 0;
    return CUFFT_OK;
}

COMMON_API int cufftGetSize(int handle, size_t *work_bytes)
{
    const struct cufft_plan *const plan = find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (!work_bytes)
        return CUFFT_INVALID_VALUE;
    *work_bytes = plan->work_bytes;
    return CUFFT_OK;
}

COMMON_API int cufftGetVersion(int *version)
{
    if (!version)
        return CUFFT_INVALID_VALUE;
    *version = STANDIN_VERSION * 1000;
    return CUFFT_OK;
}

COMMON_API int cufftGetProperty(int property, int *value)
{
    if (!value || property < 0 || property > 2)
        return CUFFT_INVALID_VALUE;
    *value = property == 0 ? STANDIN_VERSION : 0;
    return CUFFT_OK;
}

// --- Transforms ----------------------------------------------------------------------------------

// Runs the plan if it has that type; 0: any type.
static int run(int handle, enum cufft_type type, const void *in, void *out, int direction)
{
    struct cufft_plan *const plan = find(handle);
    if (!plan || !plan->is_made)
        return CUFFT_INVALID_PLAN;
    if (type && plan->type != type)
        return CUFFT_INVALID_TYPE;
    if (!in || !out || (direction != -1 && direction != 1))
        return CUFFT_INVALID_VALUE;
    if (!plan->area)
        return CUFFT_NO_WORKSPACE;
    return cufft_run(plan, in, out, direction);
}

COMMON_API int cufftExecC2C(int plan, void *in, void *out, int direction)
{
    return run(plan, CUFFT_C2C, in, out, direction);
}

COMMON_API int cufftExecZ2Z(int plan, void *in, void *out, int direction)
{
    return run(plan, CUFFT_Z2Z, in, out, direction);
}

COMMON_API int cufftExecR2C(int plan, void *in, void *out)
{
    return run(plan, CUFFT_R2C, in, out, -1);
}

COMMON_API int cufftExecD2Z(int plan, void *in, void *out)
{
    return run(plan, CUFFT_D2Z, in, out, -1);
}

COMMON_API int cufftExecC2R(int plan, void *in, void *out)
{
    return run(plan, CUFFT_C2R, in, out, 1);
}

COMMON_API int cufftExecZ2D(int plan, void *in, void *out)
{
    return run(plan, CUFFT_Z2D, in, out, 1);
}

COMMON_API int cufftXtExec(int handle, void *in, void *out, int direction)
{
    const struct cufft_plan *const plan = find(handle);
    if (plan && (plan->type == CUFFT_R2C || plan->type == CUFFT_D2Z))
        direction = -1;
    if (plan && (plan->type == CUFFT_C2R || plan->type == CUFFT_Z2D))
        direction = 1;
    return run(handle, (enum cufft_type)0, in, out, direction);
}
