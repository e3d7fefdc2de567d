// SPDX-License-Identifier: Apache-2.0
// The virtual memory API: reserved address ranges, physical memory, and mappings between them.
// Physical memory, of the device or the host, is a piece of one sparse file. Memory that other
// processes may share has a separate file, whose descriptor is the shareable handle. Kernels see a
// mapping once access is set.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver.h"
#include "memory.h"
#include "stream.h"

#define PHYSICAL_MAGIC UINT64_C(0x676c696e74706879)

struct driver_physical {
    uint64_t magic;
    unsigned references; // handles and mappings
    int fd;
    bool own_fd;
    uint64_t offset, size_bytes;
    CUmemAllocationProp prop;
    struct driver_device *device; // the first one for memory of the host
};

struct mapping {
    uint64_t address, size_bytes, offset;
    struct driver_physical *physical;
    CUmemAccess_flags access[SIM_DEVICES_MAX]; // by device
    CUmemAccess_flags host_access;
};

static bool is_aligned(uint64_t value)
{
    return value % DRIVER_GRANULARITY == 0;
}

// --- Addresses -----------------------------------------------------------------------------------

static char *map_nothing(uint64_t hint, uint64_t size_bytes, int flags)
{
    void *pages = mmap((void *)(uintptr_t)hint, size_bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

// Reserves an aligned range at any address: maps more than needed and unmaps both ends.
static char *reserve(uint64_t size_bytes, uint64_t alignment)
{
    char *pages = map_nothing(0, size_bytes + alignment, 0);
    if (!pages)
        return NULL;
    char *start = (char *)(((uintptr_t)pages + alignment - 1) & ~((uintptr_t)alignment - 1));
    char *end = start + size_bytes, *pages_end = pages + size_bytes + alignment;
    if (start > pages)
        munmap(pages, (size_t)(start - pages));
    if (pages_end > end)
        munmap(end, (size_t)(pages_end - end));
    return start;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!ptr || !size || !is_aligned(size) || flags || (alignment & (alignment - 1)),
                  CUDA_ERROR_INVALID_VALUE);
    if (alignment < DRIVER_GRANULARITY)
        alignment = DRIVER_GRANULARITY;
    char *start = NULL;
    if (addr && addr % alignment == 0)
        start = map_nothing(addr, size, MAP_FIXED_NOREPLACE);
    if (!start)
        start = reserve(size, alignment);
    DRIVER_REJECT(!start, CUDA_ERROR_OUT_OF_MEMORY);
    driver_lock();
    enum base_code code =
        base_intervals_insert(&driver.reserved, (uint64_t)(uintptr_t)start, size, 0, NULL);
    driver_unlock();
    if (code != BASE_OK) {
        munmap(start, size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ptr = (CUdeviceptr)(uintptr_t)start;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    DRIVER_BEGIN();
    driver_lock();
    struct base_interval *range = base_intervals_find(&driver.reserved, ptr);
    struct base_intervals_walk walk;
    bool good = range && range->start == ptr && base_interval_size_bytes(range) == size &&
                !base_intervals_first_overlap(&driver.mapped, ptr, size, &walk);
    if (good) {
        base_intervals_remove(&driver.reserved, ptr, NULL);
        munmap((void *)(uintptr_t)ptr, size);
    }
    driver_unlock();
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// --- Physical memory -----------------------------------------------------------------------------

// Returns how much device memory this uses; host memory uses none.
static uint64_t charged(const struct driver_physical *physical)
{
    return physical->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? physical->size_bytes : 0;
}

static void forget(struct driver_physical *physical)
{
    if (--physical->references)
        return;
    physical->device->used_bytes -= charged(physical);
    if (physical->own_fd)
        close(physical->fd);
    else
        fallocate(physical->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)physical->offset,
                  (off_t)physical->size_bytes);
    physical->magic = 0;
    free(physical);
}

static CUresult back(struct driver_physical *physical)
{
    if (physical->prop.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE) {
        physical->fd = memfd_create("glint-memory", MFD_CLOEXEC);
        physical->own_fd = true;
        return physical->fd >= 0 && ftruncate(physical->fd, (off_t)physical->size_bytes) == 0
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (driver.physical_file < 0)
        driver.physical_file = memfd_create("glint-memory", MFD_CLOEXEC);
    DRIVER_REJECT(driver.physical_file < 0, CUDA_ERROR_OPERATING_SYSTEM);
    physical->fd = driver.physical_file;
    physical->offset = driver.physical_bytes;
    DRIVER_REJECT(
        ftruncate(driver.physical_file, (off_t)(driver.physical_bytes + physical->size_bytes)) != 0,
        CUDA_ERROR_OUT_OF_MEMORY);
    driver.physical_bytes += physical->size_bytes;
    return CUDA_SUCCESS;
}

// Returns NULL if there is no such device.
static struct driver_device *device_of(const CUmemLocation *location)
{
    return driver_device_at(location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : 0);
}

static CUresult make(const CUmemAllocationProp *prop, uint64_t size_bytes, int fd,
                     struct driver_physical **made)
{
    struct driver_device *device = device_of(&prop->location);
    DRIVER_REJECT(!device, CUDA_ERROR_INVALID_DEVICE);
    struct driver_physical *physical = calloc(1, sizeof *physical);
    DRIVER_REJECT(!physical, CUDA_ERROR_OUT_OF_MEMORY);
    *physical = (struct driver_physical){.magic = PHYSICAL_MAGIC,
                                         .references = 1,
                                         .fd = fd,
                                         .own_fd = fd >= 0,
                                         .size_bytes = size_bytes,
                                         .prop = *prop,
                                         .device = device};
    CUresult result = driver_memory_charge(device, charged(physical));
    if (result == CUDA_SUCCESS && fd < 0) {
        result = back(physical);
        if (result != CUDA_SUCCESS)
            device->used_bytes -= charged(physical);
    }
    if (result != CUDA_SUCCESS) {
        if (fd < 0 && physical->own_fd && physical->fd >= 0)
            close(physical->fd);
        free(physical);
        return result;
    }
    *made = physical;
    return CUDA_SUCCESS;
}

static struct driver_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    struct driver_physical *physical = (struct driver_physical *)(uintptr_t)handle;
    return physical && physical->magic == PHYSICAL_MAGIC ? physical : NULL;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!granularity || !prop, CUDA_ERROR_INVALID_VALUE);
    *granularity = DRIVER_GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!handle || !prop || !size || !is_aligned(size) || flags,
                  CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(prop->type != CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(!device_of(&prop->location), CUDA_ERROR_INVALID_DEVICE);
    DRIVER_REJECT(prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_NOT_SUPPORTED);
    struct driver_physical *physical = NULL;
    driver_lock();
    CUresult result = make(prop, size, -1, &physical);
    driver_unlock();
    DRIVER_TRY(result);
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    DRIVER_BEGIN();
    driver_lock();
    struct driver_physical *physical = physical_of(handle);
    if (physical)
        forget(physical);
    driver_unlock();
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                CUmemGenericAllocationHandle handle)
{
    DRIVER_BEGIN();
    struct driver_physical *physical = physical_of(handle);
    DRIVER_REJECT(!prop || !physical, CUDA_ERROR_INVALID_VALUE);
    *prop = physical->prop;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags)
{
    DRIVER_BEGIN();
    struct driver_physical *physical = physical_of(handle);
    DRIVER_REJECT(!shareableHandle || !physical || flags || !physical->own_fd ||
                      handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_INVALID_VALUE);
    int fd = dup(physical->fd);
    DRIVER_REJECT(fd < 0, CUDA_ERROR_OPERATING_SYSTEM);
    *(int *)shareableHandle = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *osHandle,
                                        CUmemAllocationHandleType shHandleType)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!handle || shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_INVALID_VALUE);
    int fd = dup((int)(intptr_t)osHandle);
    struct stat about;
    DRIVER_REJECT(fd < 0, CUDA_ERROR_INVALID_VALUE);
    if (fstat(fd, &about) != 0 || about.st_size <= 0) {
        close(fd);
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    struct driver_physical *physical = NULL;
    driver_lock();
    CUresult result = make(&prop, (uint64_t)about.st_size, fd, &physical);
    driver_unlock();
    if (result != CUDA_SUCCESS) {
        close(fd);
        return result;
    }
    *handle = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

// --- Mappings ------------------------------------------------------------------------------------

static struct mapping *mapping_at(uint64_t address)
{
    struct base_interval *found = base_intervals_find(&driver.mapped, address);
    return found ? (struct mapping *)(uintptr_t)found->value : NULL;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!handle, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    struct mapping *mapping = mapping_at((uint64_t)(uintptr_t)addr);
    if (mapping) {
        mapping->physical->references++;
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
    }
    driver_unlock();
    return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult map(uint64_t address, uint64_t size_bytes, uint64_t offset,
                    struct driver_physical *physical)
{
    struct base_interval *range = base_intervals_find(&driver.reserved, address);
    DRIVER_REJECT(!range || address + size_bytes - 1 > range->last, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(offset + size_bytes > physical->size_bytes, CUDA_ERROR_INVALID_VALUE);
    struct mapping *mapping = calloc(1, sizeof *mapping);
    DRIVER_REJECT(!mapping, CUDA_ERROR_OUT_OF_MEMORY);
    *mapping = (struct mapping){
        .address = address, .size_bytes = size_bytes, .offset = offset, .physical = physical};
    enum base_code code = base_intervals_insert(&driver.mapped, address, size_bytes,
                                                (uint64_t)(uintptr_t)mapping, NULL);
    if (code != BASE_OK) {
        free(mapping);
        return code == BASE_CONFLICT ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *mapped = mmap((void *)(uintptr_t)address, size_bytes, PROT_NONE,
                        MAP_SHARED | MAP_FIXED | MAP_NORESERVE, physical->fd,
                        (off_t)(physical->offset + offset));
    if (mapped == MAP_FAILED) {
        base_intervals_remove(&driver.mapped, address, NULL);
        free(mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->references++;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!size || !is_aligned(ptr) || !is_aligned(size) || !is_aligned(offset) || flags,
                  CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    struct driver_physical *physical = physical_of(handle);
    CUresult result = physical ? map(ptr, size, offset, physical) : CUDA_ERROR_INVALID_VALUE;
    driver_unlock();
    return result;
}

// Calls act for every mapping in the range. The mappings must cover the range exactly.
static CUresult for_each(uint64_t address, uint64_t size_bytes,
                         CUresult (*act)(struct mapping *mapping, const CUmemAccessDesc *desc),
                         const CUmemAccessDesc *desc)
{
    uint64_t end = address + size_bytes;
    for (uint64_t at = address; at < end;) {
        struct mapping *mapping = mapping_at(at);
        DRIVER_REJECT(!mapping || mapping->address != at || at + mapping->size_bytes > end,
                      CUDA_ERROR_INVALID_VALUE);
        at += mapping->size_bytes;
    }
    for (uint64_t at = address; at < end;) {
        struct mapping *mapping = mapping_at(at);
        at += mapping->size_bytes;
        DRIVER_TRY(act(mapping, desc));
    }
    return CUDA_SUCCESS;
}

// Returns the devices with access, a bit for each, and adds up the access of all and of the host.
static uint32_t admitted(const struct mapping *mapping, unsigned *access)
{
    uint32_t devices = 0;
    *access = (unsigned)mapping->host_access;
    for (unsigned i = 0; i < driver.device_count; i++) {
        *access |= (unsigned)mapping->access[i];
        devices |= mapping->access[i] ? UINT32_C(1) << i : 0;
    }
    return devices;
}

static CUresult set_access(struct mapping *mapping, const CUmemAccessDesc *desc)
{
    const bool is_device = desc->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    *(is_device ? &mapping->access[desc->location.id] : &mapping->host_access) = desc->flags;
    unsigned access;
    const uint32_t devices = admitted(mapping, &access);
    int protection = access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                     : access == CU_MEM_ACCESS_FLAGS_PROT_READ    ? PROT_READ
                                                                  : PROT_NONE;
    DRIVER_REJECT(mprotect((void *)(uintptr_t)mapping->address, mapping->size_bytes, protection),
                  CUDA_ERROR_OPERATING_SYSTEM);
    struct driver_allocation *allocation = driver_memory_find(mapping->address);
    if (access && !allocation) {
        allocation = calloc(1, sizeof *allocation);
        DRIVER_REJECT(!allocation, CUDA_ERROR_OUT_OF_MEMORY);
        *allocation = (struct driver_allocation){.address = mapping->address,
                                                 .size_bytes = mapping->size_bytes,
                                                 .kind = DRIVER_MEMORY_MAPPED,
                                                 .device = mapping->physical->device};
        CUresult result = driver_memory_enter(allocation);
        if (result != CUDA_SUCCESS) {
            free(allocation);
            return result;
        }
    } else if (!access && allocation) {
        driver_memory_remove(allocation);
    }
    if (access)
        sim_object_admit(driver_machine(), mapping->address, devices);
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!size || !desc || !count, CUDA_ERROR_INVALID_VALUE);
    CUresult result = CUDA_SUCCESS;
    driver_lock();
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        const struct driver_device *device = device_of(&desc[i].location);
        const struct mapping *mapping = mapping_at(ptr);
        if (!device || (mapping && !driver_devices_linked(device, mapping->physical->device)))
            result = CUDA_ERROR_INVALID_DEVICE;
        else
            result = for_each(ptr, size, set_access, &desc[i]);
    }
    driver_unlock();
    return result;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!flags || !location || !device_of(location), CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    const struct mapping *mapping = mapping_at(ptr);
    if (mapping)
        *flags = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? mapping->access[location->id]
                                                               : mapping->host_access;
    driver_unlock();
    return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult unmap(struct mapping *mapping, const CUmemAccessDesc *desc)
{
    (void)desc;
    struct driver_allocation *allocation = driver_memory_find(mapping->address);
    if (allocation)
        driver_memory_remove(allocation);
    base_intervals_remove(&driver.mapped, mapping->address, NULL);
    map_nothing(mapping->address, mapping->size_bytes, MAP_FIXED);
    forget(mapping->physical);
    free(mapping);
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!size, CUDA_ERROR_INVALID_VALUE);
    driver_lock();
    driver_wait_device(NULL);
    CUresult result = for_each(ptr, size, unmap, NULL);
    driver_unlock();
    return result;
}
