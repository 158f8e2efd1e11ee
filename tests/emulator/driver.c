/* A CUDA driver for machines without a GPU: what numba-cuda asks of libcuda.so.1, and the threads of a block as fibres.
 *
 * Device memory is host memory, full of rubbish when it is allocated and with guard bytes at both ends, which are looked at when it
 * is freed or copied and whenever the host waits. Kernels are functions of this process (see emulator.py), called for one thread
 * after the other; where they can wait for each other, every thread of a block has a stack of its own. Signatures are CUDA's, but
 * for handles, which are pointers to nothing here, and for arguments that are not used.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define API __attribute__((visibility("default")))
#define NOTHING_TO_DO(name) API int name() { return 0; }

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, NOT_FOUND = 500 };
typedef unsigned long long Address;

static long violations; /* writes beyond an allocation, threads at different barriers */

API long emulator_violations(void) { return violations; }

enum { LAUNCHES, ALLOCATIONS, BYTES_UP, BYTES_DOWN, WAITS, JOINS, COUNTERS };
static long counters[COUNTERS];  /* what the budget of a call is made of (budget.py) */

API void emulator_count(long *result)
{
    memcpy(result, counters, sizeof counters);
    memset(counters, 0, sizeof counters);
}

/* --- streams: of each the number of operations asked for, and how many of every other stream's it waits for ------------------ */

#define STREAMS 64
typedef struct { long of[STREAMS]; } Clock;
static struct { void *handle; int blocking; Clock seen; } streams[STREAMS] = {{.blocking = 1}}; /* the first is the default stream */
static int n_streams = 1;
static Clock host; /* operations that the host has waited for */

static void merge(Clock *into, const Clock *other)
{
    for (int k = 0; k < STREAMS; k++)
        if (other->of[k] > into->of[k]) into->of[k] = other->of[k];
}

static int number_of(void *handle)
{
    if ((uintptr_t)handle <= 1) return 0;
    for (int s = 1; s < n_streams; s++)
        if (streams[s].handle == handle) return s;
    if (n_streams == STREAMS) abort();
    streams[n_streams].handle = handle;
    return n_streams++;
}

/* An operation on a stream: after what the host has waited for; the default stream and streams that block wait for each other. */
static int submit(void *handle)
{
    int s = number_of(handle);
    merge(&streams[s].seen, &host);
    for (int k = 0; k < n_streams; k++)
        if (streams[s].blocking && streams[k].blocking && (s == 0) != (k == 0)) merge(&streams[s].seen, &streams[k].seen);
    streams[s].seen.of[s]++;
    return s;
}

static void host_waits(void *handle) { merge(&host, &streams[number_of(handle)].seen); }

/* --- memory ---------------------------------------------------------------------------------------------------------- */

#define GUARD 256
#define GUARD_BYTE 0xA5
#define RUBBISH 0x7F
#define IDLE (1 << 20) /* larger memory is not kept when it is freed */
/* `used`: of each stream the last operation on it; `before`: those on what was freed here, for which nothing has waited */
static struct Block { unsigned char *start; size_t size; int idle; Clock used, before; } blocks[1 << 14];
static int used;
static size_t held, limit = (size_t)4 << 30; /* bytes that are allocated, and that there are */

API void emulator_limit(size_t bytes) { limit = bytes; }

static void look_at(int i)
{
    unsigned char *start = blocks[i].start, *end = start + blocks[i].size;
    for (int k = 0; k < GUARD; k++)
        if (start[-1 - k] != GUARD_BYTE || end[k] != GUARD_BYTE) {
            fprintf(stderr, "emulator: a kernel wrote beyond an allocation of %zu bytes\n", blocks[i].size);
            violations++;
            memset(start - GUARD, GUARD_BYTE, GUARD);
            memset(end, GUARD_BYTE, GUARD);
            return;
        }
}

static int look_at_all(void)
{
    counters[WAITS]++;
    for (int i = 0; i < used; i++)
        if (blocks[i].start && !blocks[i].idle) look_at(i);
    return 0;
}

static struct Block *block_of(Address address)
{
    unsigned char *p = (unsigned char *)address;
    for (int i = 0; i < used; i++)
        if (blocks[i].start && !blocks[i].idle && p >= blocks[i].start && p <= blocks[i].start + blocks[i].size) return &blocks[i];
    return NULL;
}

/* Note that the last operation of a stream uses the memory at an address. */
static void touch(int s, Address address)
{
    struct Block *b = block_of(address);
    if (!b) return;
    for (int k = 0; k < n_streams; k++)
        if (k != s && b->before.of[k] > streams[s].seen.of[k]) {
            fprintf(stderr, "emulator: %zu bytes were freed while a stream uses them, and another stream uses them now\n", b->size);
            violations++;
            memset(&b->before, 0, sizeof b->before);
        }
    b->used.of[s] = streams[s].seen.of[s];
}

/* A kernel on a stream, with the addresses among its arguments. */
API void emulator_uses(void *stream, const Address *addresses, int n)
{
    int s = submit(stream);
    for (int k = 0; k < n; k++) touch(s, addresses[k]);
}

/* Memory that was freed last is given out first, as by the pools of other libraries, which Numba may be told to use. */
API int cuMemAlloc_v2(Address *result, size_t size)
{
    struct Block *b = NULL;
    if (!size) return INVALID_VALUE;
    if (held + size > limit) return OUT_OF_MEMORY;
    for (int i = 0; i < used; i++)
        if (blocks[i].idle && blocks[i].size == size && (!b || blocks[i].idle > b->idle)) b = &blocks[i];
    if (b) {
        b->before = b->used;
        memset(&b->used, 0, sizeof b->used);
    } else {
        unsigned char *memory;
        int i = 0;
        while (i < used && blocks[i].start) i++;
        if (i == 1 << 14 || posix_memalign((void **)&memory, 512, size + 2 * GUARD)) return OUT_OF_MEMORY;
        if (i == used) used++;
        b = &blocks[i];
        memset(b, 0, sizeof *b);
        b->start = memory + GUARD;
        b->size = size;
        memset(memory, GUARD_BYTE, size + 2 * GUARD);
    }
    memset(b->start, RUBBISH, size);
    b->idle = 0;
    held += size;
    counters[ALLOCATIONS]++;
    *result = (Address)b->start;
    return 0;
}

API int cuMemFree_v2(Address address)
{
    static int freed;
    for (int i = 0; i < used; i++)
        if (blocks[i].start == (unsigned char *)address && !blocks[i].idle) {
            look_at(i);
            held -= blocks[i].size;
            blocks[i].idle = ++freed;
            if (blocks[i].size > IDLE) {
                free(blocks[i].start - GUARD);
                blocks[i].start = NULL;
                blocks[i].idle = 0;
            }
            return 0;
        }
    return INVALID_VALUE;
}

/* Memory that a library keeps for a stream, on which alone it is used again: work that the stream waits for is no danger. */
API int emulator_free(Address address, void *stream)
{
    struct Block *b = block_of(address);
    int s = number_of(stream);
    for (int k = 0; b && k < n_streams; k++)
        if (k == s || b->used.of[k] <= streams[s].seen.of[k]) b->used.of[k] = 0;
    return cuMemFree_v2(address);
}

API int cuMemGetAddressRange_v2(Address *base, size_t *size, Address address)
{
    struct Block *b = block_of(address);
    if (!b) return NOT_FOUND;
    if (base) *base = (Address)b->start;
    if (size) *size = b->size;
    return 0;
}

static int up(void *to, const void *from, size_t n, void *stream)
{
    counters[BYTES_UP] += n;
    memcpy(to, from, n);
    touch(submit(stream), (Address)to);
    return 0;
}

static int down(void *to, const void *from, size_t n, void *stream)
{
    counters[BYTES_DOWN] += n;
    memcpy(to, from, n);
    touch(submit(stream), (Address)from);
    return look_at_all();
}

static int across(Address to, Address from, size_t n, void *stream)
{
    int s = submit(stream);
    memmove((void *)to, (void *)from, n);
    touch(s, to);
    touch(s, from);
    return 0;
}

static int set(Address to, unsigned char byte, size_t n, void *stream)
{
    memset((void *)to, byte, n);
    touch(submit(stream), to);
    return 0;
}

API int cuMemcpyHtoD_v2(Address to, const void *from, size_t n) { up((void *)to, from, n, NULL); host_waits(NULL); return 0; }
API int cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t n, void *stream) { return up((void *)to, from, n, stream); }
API int cuMemcpyDtoH_v2(void *to, Address from, size_t n) { down(to, (void *)from, n, NULL); host_waits(NULL); return 0; }
API int cuMemcpyDtoHAsync_v2(void *to, Address from, size_t n, void *stream) { return down(to, (void *)from, n, stream); }
API int cuMemcpyDtoD_v2(Address to, Address from, size_t n) { return across(to, from, n, NULL); }
API int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t n, void *stream) { return across(to, from, n, stream); }
API int cuMemsetD8_v2(Address to, unsigned char byte, size_t n) { return set(to, byte, n, NULL); }
API int cuMemsetD8Async(Address to, unsigned char byte, size_t n, void *stream) { return set(to, byte, n, stream); }
API int cuMemHostAlloc(void **result, size_t n) { *result = malloc(n); return *result ? 0 : OUT_OF_MEMORY; }
API int cuMemFreeHost(void *p) { free(p); return 0; }
API int cuMemGetInfo_v2(size_t *unused, size_t *total) { *unused = limit > held ? limit - held : 0; *total = limit; return 0; }

API int cuPointerGetAttribute(void *value, int attribute, Address address)
{
    if (attribute == 2) *(unsigned *)value = 2; /* memory of a device */
    else if (attribute == 9) *(int *)value = 0; /* its number */
    else *(Address *)value = attribute == 1 ? 0x1000 : attribute == 3 ? address : 0;
    return 0;
}

/* --- one device of compute capability 9.0, one context ------------------------------------------------------------------ */

static __thread void *contexts[64];
static __thread int depth;
static void *const primary = (void *)0x1000;

NOTHING_TO_DO(cuInit)
API int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
API int cuDeviceGetCount(int *count) { *count = 1; return 0; }
API int cuDeviceGet(int *device, int ordinal) { *device = 0; return ordinal ? INVALID_DEVICE : 0; }
API int cuDeviceGetName(char *name, int size) { snprintf(name, size, "emulated GPU"); return 0; }
API int cuDeviceGetUuid_v2(void *uuid) { memset(uuid, 7, 16); return 0; }
API int cuDeviceTotalMem_v2(size_t *size) { *size = (size_t)4 << 30; return 0; }

API int cuDeviceGetAttribute(int *value, int attribute)
{
    switch (attribute) {
    case 1: *value = 1024; break;              /* threads of a block */
    case 5: *value = 2147483647; break;        /* blocks along x, */
    case 6: case 7: *value = 65535; break;     /* y and z */
    case 8: *value = 49152; break;             /* bytes of shared memory */
    case 10: *value = 32; break;               /* threads of a warp */
    case 12: *value = 65536; break;            /* registers */
    case 16: *value = 4; break;                /* multiprocessors */
    case 41: *value = 1; break;                /* unified addressing */
    case 75: *value = 9; break;
    default: *value = 0;
    }
    return 0;
}

API int cuDevicePrimaryCtxRetain(void **context) { *context = primary; return 0; }
API int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { *flags = 0; *active = 1; return 0; }
NOTHING_TO_DO(cuDevicePrimaryCtxRelease_v2)
NOTHING_TO_DO(cuDevicePrimaryCtxReset_v2)
NOTHING_TO_DO(cuDevicePrimaryCtxSetFlags_v2)
API int cuCtxGetCurrent(void **context) { *context = depth ? contexts[depth - 1] : NULL; return 0; }
API int cuCtxSetCurrent(void *context) { if (!depth) depth = 1; contexts[depth - 1] = context; if (!context) depth = 0; return 0; }
API int cuCtxPushCurrent_v2(void *context) { contexts[depth++] = context; return 0; }
API int cuCtxPopCurrent_v2(void **context) { if (!depth) return INVALID_CONTEXT; *context = contexts[--depth]; return 0; }
API int cuCtxGetDevice(int *device) { *device = 0; return 0; }
API int cuCtxGetDevice_v2(int *device) { *device = 0; return 0; }
API int cuCtxGetId(void *context, unsigned long long *id) { *id = 1; return 0; }
API int cuCtxGetApiVersion(void *context, unsigned *version) { *version = 13000; return 0; }
API int cuCtxGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return 0; }
API int cuCtxSynchronize(void) { for (int s = 0; s < n_streams; s++) merge(&host, &streams[s].seen); return look_at_all(); }
API int cuCtxSynchronize_v2(void) { return cuCtxSynchronize(); }
API int cuGetErrorName(int error, const char **text) { *text = "CUDA_ERROR"; return 0; }
API int cuGetErrorString(int error, const char **text) { *text = "an error of the emulated driver"; return 0; }

API int cuStreamCreate(void **handle, unsigned flags)
{
    *handle = malloc(16);
    streams[number_of(*handle)].blocking = !(flags & 1);
    return 0;
}
API int cuStreamCreateWithPriority(void **handle, unsigned flags, int priority) { return cuStreamCreate(handle, flags); }
NOTHING_TO_DO(cuStreamDestroy_v2)
API int cuStreamSynchronize(void *stream) { host_waits(stream); return look_at_all(); }
NOTHING_TO_DO(cuStreamQuery)
API int cuStreamWaitEvent(void *stream, Clock *event)
{
    counters[JOINS]++;
    merge(&streams[number_of(stream)].seen, event);
    return 0;
}
API int cuStreamGetFlags(void *stream, unsigned *flags) { *flags = 0; return 0; }
API int cuStreamGetPriority(void *stream, int *priority) { *priority = 0; return 0; }
API int cuStreamGetCtx(void *stream, void **context) { *context = primary; return 0; }
API int cuStreamGetCtx_v2(void *stream, void **context, void **green) { *context = primary; if (green) *green = NULL; return 0; }
API int cuStreamGetDevice(void *stream, int *device) { *device = 0; return 0; }
API int cuEventCreate(Clock **event) { *event = calloc(1, sizeof(Clock)); return 0; }
API int cuEventDestroy_v2(Clock *event) { free(event); return 0; }
API int cuEventRecord(Clock *event, void *stream) { *event = streams[submit(stream)].seen; return 0; }
API int cuEventSynchronize(Clock *event) { merge(&host, event); return 0; }
NOTHING_TO_DO(cuEventQuery)
API int cuEventElapsedTime_v2(float *milliseconds) { *milliseconds = 1; return 0; }

API int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    static const char *const suffixes[] = {"_v3", "_v2", ""};
    char full[256];
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    *function = NULL;
    for (int i = 0; i < 3 && !*function; i++) {
        snprintf(full, sizeof full, "%s%s", name, suffixes[i]);
        *function = dlsym(self, full);
    }
    if (status) *status = *function ? 0 : 1;
    return *function ? 0 : NOT_FOUND;
}

API int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

/* --- threads --------------------------------------------------------------------------------------------------------- */

#define MOST 1024
#define STACK (256 * 1024)
enum { RUNNING, AT_BARRIER, AT_WARP, FINISHED };
static int thread, threads, block[3], grid[3];
static int state[MOST], vote[MOST], votes;
static void *place[MOST]; /* of the barrier where it waits */
static uint64_t offered[MOST];
static ucontext_t scheduler, fibre[MOST];
static char *stacks;
static void (*kernel)(void **);
static void **arguments;

API int emu_tid_x(void) { return thread; }
API int emu_tid_y(void) { return 0; }
API int emu_tid_z(void) { return 0; }
API int emu_ntid_x(void) { return threads; }
API int emu_ntid_y(void) { return 1; }
API int emu_ntid_z(void) { return 1; }
API int emu_ctaid_x(void) { return block[0]; }
API int emu_ctaid_y(void) { return block[1]; }
API int emu_ctaid_z(void) { return block[2]; }
API int emu_nctaid_x(void) { return grid[0]; }
API int emu_nctaid_y(void) { return grid[1]; }
API int emu_nctaid_z(void) { return grid[2]; }
API int emu_laneid(void) { return thread % 32; }
API int emu_warpsize(void) { return 32; }

static void wait_as(int what)
{
    int t = thread;
    state[t] = what;
    swapcontext(&fibre[t], &scheduler);
}

API void emu_barrier(void) { place[thread] = __builtin_return_address(0); wait_as(AT_BARRIER); }
API int emu_barrier_popc(int v) { place[thread] = __builtin_return_address(0); vote[thread] = v != 0; wait_as(AT_BARRIER); return votes; }
API int emu_barrier_or(int v) { return emu_barrier_popc(v) > 0; }
API int emu_barrier_and(int v) { return emu_barrier_popc(v) == threads; }
API void emu_syncwarp(void) { wait_as(AT_WARP); }

API int emu_shuffle_xor(int value, int mask)
{
    offered[thread] = (unsigned)value;
    wait_as(AT_WARP);
    int other = (int)offered[(thread & ~31) | ((thread ^ mask) & 31)];
    wait_as(AT_WARP);
    return other;
}

static void body(void)
{
    kernel(arguments);
    wait_as(FINISHED);
}

static void resume(int t)
{
    thread = t;
    state[t] = RUNNING;
    swapcontext(&scheduler, &fibre[t]);
}

/* Let the warps whose threads wait for each other go on; whether there were any. */
static int resume_warps(int reversed)
{
    int any = 0;
    for (int first = 0; first < threads; first += 32) {
        int end = first + 32 < threads ? first + 32 : threads, waiting = 0;
        for (int t = first; t < end; t++) waiting += state[t] == AT_WARP;
        if (!waiting) continue;
        any = 1;
        if (waiting < end - first) violations++;
        for (int i = first; i < end; i++) {
            int t = reversed ? first + end - 1 - i : i;
            if (state[t] == AT_WARP) resume(t);
        }
    }
    return any;
}

static void run_block(int reversed)
{
    for (int t = 0; t < threads; t++) {
        getcontext(&fibre[t]);
        fibre[t].uc_stack.ss_sp = stacks + (size_t)t * STACK;
        fibre[t].uc_stack.ss_size = STACK;
        fibre[t].uc_link = NULL;
        makecontext(&fibre[t], body, 0);
        state[t] = RUNNING;
    }
    for (int left = threads; left;) {
        void *first = NULL;
        int apart = 0;
        for (int i = 0; i < threads; i++) {
            int t = reversed ? threads - 1 - i : i;
            if (state[t] != FINISHED) resume(t);
        }
        while (resume_warps(reversed)) continue;
        left = votes = 0;
        for (int t = 0; t < threads; t++) {
            if (state[t] != AT_BARRIER) continue;
            left++;
            votes += vote[t];
            vote[t] = 0;
            if (!first) first = place[t];
            apart |= place[t] != first;
        }
        violations += apart;
    }
}

/* Call a kernel for every thread of every block, in order or in reversed order. `shared` are the arrays of a block. */
API void emulator_run(void (*function)(void **), void **values, const int *shape, int size, int waits, int reversed, char **shared,
                      const size_t *shared_sizes, int n_shared)
{
    long total = (long)shape[0] * shape[1] * shape[2];
    counters[LAUNCHES]++;
    kernel = function;
    arguments = values;
    threads = size;
    memcpy(grid, shape, sizeof grid);
    if (!stacks) stacks = aligned_alloc(4096, (size_t)MOST * STACK);
    for (long i = 0; i < total; i++) {
        long b = reversed ? total - 1 - i : i;
        block[0] = b % grid[0];
        block[1] = b / grid[0] % grid[1];
        block[2] = b / grid[0] / grid[1];
        for (int k = 0; k < n_shared; k++) memset(shared[k], RUBBISH, shared_sizes[k]);
        if (waits) {
            run_block(reversed);
            continue;
        }
        for (int t = 0; t < size; t++) {
            thread = reversed ? size - 1 - t : t;
            function(values);
        }
    }
}

/* --- functions of CUDA's mathematical library that the C library lacks or has as macros -------------------------------------- */

API int emu_nv_popc(int x) { return __builtin_popcount(x); }
API int emu_nv_popcll(long long x) { return __builtin_popcountll(x); }
API int emu_nv_clz(int x) { return x ? __builtin_clz(x) : 32; }
API int emu_nv_clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
API int emu_nv_ffs(int x) { return __builtin_ffs(x); }
API int emu_nv_ffsll(long long x) { return __builtin_ffsll(x); }
API double emu_nv_rsqrt(double x) { return 1 / sqrt(x); }
API float emu_nv_rsqrtf(float x) { return 1 / sqrtf(x); }
API long long emu_nv_llabs(long long x) { return x < 0 ? -x : x; }
API int emu_nv_abs(int x) { return x < 0 ? -x : x; }
API int emu_nv_isnand(double x) { return isnan(x) != 0; }
API int emu_nv_isnanf(float x) { return isnan(x) != 0; }
API int emu_nv_isinfd(double x) { return isinf(x) != 0; }
API int emu_nv_isinff(float x) { return isinf(x) != 0; }
API int emu_nv_isfinited(double x) { return isfinite(x) != 0; }
API int emu_nv_finitef(float x) { return isfinite(x) != 0; }
API int emu_nv_signbitd(double x) { return signbit(x) != 0; }
API int emu_nv_signbitf(float x) { return signbit(x) != 0; }
API unsigned long long emu_nv_umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
API unsigned emu_nv_umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
