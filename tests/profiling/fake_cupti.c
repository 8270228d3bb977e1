/* A stand-in for CUPTI and the driver: gives the kernels of a file, and ends the process where it is called wrongly.

   FAKE_CUPTI names the file: one kernel a line, its start, its end, the number of its name and its grid's first number.
   With a grid of 0 it is a copy, and the number of its name the direction.
   FAKE_CUPTI_REFUSES names a function that returns an error. With FAKE_CUPTI_EACH each kernel has its own buffer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*requested_t)(uint8_t **, size_t *, size_t *);
typedef void (*completed_t)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*called_t)(void *, uint32_t, uint32_t, const void *);
enum { RECORD = 216, COPY = 1, KERNEL = 10, OTHER = 3 };

static requested_t requested;
static completed_t completed;
static called_t called;
static int enabled, callbacks, synchronized;
static uint64_t now = 1000;

static void must(int holds, const char *what) {
    if (!holds) { fprintf(stderr, "fake cupti: %s\n", what); _Exit(99); }
}
static int refuses(const char *name) {
    const char *given = getenv("FAKE_CUPTI_REFUSES");
    return given && !strcmp(given, name) ? 39 : 0;
}

int cuptiActivityRegisterCallbacks(requested_t first, completed_t second) {
    must(first && second, "no callbacks");
    requested = first, completed = second;
    return refuses(__func__);
}
int cuptiActivityEnable(uint32_t kind) {
    must((kind == KERNEL || kind == COPY) && requested, "enabled before callbacks, or something else than kernels");
    enabled += !refuses(__func__);
    return refuses(__func__);
}
int cuptiSubscribe(void **subscriber, called_t callback, void *user) {
    must(subscriber && callback && !user, "a wrong subscription");
    *subscriber = &called, called = callback;
    return refuses(__func__);
}
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t function) {
    int driver = domain == 1 && (function == 308 || function == 309);
    int runtime = domain == 2 && (function == 171 || function == 172);
    must(enable == 1 && subscriber == &called && (driver || runtime), "a callback that nobody asked for");
    callbacks++;
    return 0;
}
int cuptiGetTimestamp(uint64_t *time) {
    must(synchronized, "a time before kernels have ended");
    *time = now, synchronized = 0;
    return 0;
}
int cuCtxSynchronize(void) { synchronized = 1; return 0; }

/* What the runtime's and the driver's functions do: the runtime calls the driver. */
void fake_profiler(int starts, uint64_t time) {
    uint32_t enter[10] = {0}, leave[10] = {1};
    must(!called || callbacks == 4, "callbacks are missing");
    now = time;
    if (!called) return;
    called(0, 2, starts ? 171 : 172, enter), called(0, 1, starts ? 308 : 309, enter);
    called(0, 1, starts ? 308 : 309, leave), called(0, 2, starts ? 171 : 172, leave);
}

static void give(uint8_t **buffer, size_t *filled, size_t size) {
    if (*filled) completed(0, 0, *buffer, size, *filled);
    *filled = 0, *buffer = 0;
}
int cuptiActivityFlushAll(uint32_t flag) {
    uint8_t *buffer = 0;
    size_t size = 0, most = 7, filled = 0;
    unsigned long long start, end, name, grid;
    FILE *file = fopen(getenv("FAKE_CUPTI"), "r");
    must(flag == 1 && enabled == 2 && file, "flushed without force, or without a trace");
    while (fscanf(file, "%llu %llu %llu %llu", &start, &end, &name, &grid) == 4) {
        if (buffer && (filled + 2 * RECORD > size || getenv("FAKE_CUPTI_EACH"))) give(&buffer, &filled, size);
        if (!buffer) {
            requested(&buffer, &size, &most);
            must(buffer && !((uintptr_t)buffer & 7) && size >= 2 * RECORD && !most, "a wrong buffer");
        }
        uint8_t *at = buffer + filled;
        memset(at, 0xee, 2 * RECORD);
        *(uint32_t *)at = KERNEL, *(uint32_t *)(at + RECORD) = OTHER;
        *(uint64_t *)(at + 16) = start, *(uint64_t *)(at + 24) = end, *(uint64_t *)(at + 104) = name;
        if (!grid) *(uint32_t *)at = COPY, at[4] = (uint8_t)name;
        ((int32_t *)(at + 52))[0] = (int32_t)grid, ((int32_t *)(at + 52))[1] = 1, ((int32_t *)(at + 52))[2] = 1;
        filled += 2 * RECORD;
    }
    if (buffer) give(&buffer, &filled, size);
    fclose(file);
    return refuses(__func__);
}
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record) {
    must(buffer && valid && !(valid % RECORD), "a buffer that was not given");
    *record = *record ? *record + RECORD : buffer;
    if (*record < buffer + valid) return 0;
    *record = 0;
    return 12;
}
