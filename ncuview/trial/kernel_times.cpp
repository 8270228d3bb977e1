// Writes the time of every kernel of a process to a file, by CUPTI, which needs no permission to read counters.
//
// The driver loads this library where CUDA_INJECTION64_PATH names it. NCUVIEW_KERNEL_TIMES names the folder; each
// process that launched kernels writes PID.tsv when it ends: a line per launch with its time in ns, its grid and block,
// and the mangled name of its kernel, in the order of their ends. The last line is "complete" unless records were lost.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

#include <cupti.h>

namespace {

constexpr size_t kBufferBytes = 1 << 20;
FILE *times = nullptr;
bool lost = false;
std::mutex one_at_a_time;

void CUPTIAPI requested(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = static_cast<uint8_t *>(aligned_alloc(8, kBufferBytes));
    *bytes = *buffer ? kBufferBytes : 0;
    *most_records = 0;
}

FILE *opened()
{
    if (!times) {
        const char *folder = getenv("NCUVIEW_KERNEL_TIMES");
        char path[4096];
        snprintf(path, sizeof path, "%s/%ld.tsv", folder ? folder : ".", static_cast<long>(getpid()));
        times = fopen(path, "w");
    }
    return times;
}

void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t, size_t valid)
{
    std::lock_guard<std::mutex> alone(one_at_a_time);
    CUpti_Activity *record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record->kind != CUPTI_ACTIVITY_KIND_KERNEL)
            continue;
        // The fields read here have kept their places since version 4 of the record.
        const auto *kernel = reinterpret_cast<const CUpti_ActivityKernel4 *>(record);
        if (FILE *file = opened())
            fprintf(file, "%llu\t%d,%d,%d\t%d,%d,%d\t%s\n", static_cast<unsigned long long>(kernel->end - kernel->start),
                    kernel->gridX, kernel->gridY, kernel->gridZ, kernel->blockX, kernel->blockY, kernel->blockZ,
                    kernel->name ? kernel->name : "");
    }
    size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped)
        lost = true;
    free(buffer);
}

void finish()
{
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::lock_guard<std::mutex> alone(one_at_a_time);
    if (times) {
        if (!lost)
            fputs("complete\n", times);
        fclose(times);
        times = nullptr;
    }
}

} // namespace

extern "C" int InitializeInjection(void)
{
    if (cuptiActivityRegisterCallbacks(requested, completed) == CUPTI_SUCCESS
        && cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS)
        atexit(finish);
    return 1;
}
