// The scheduler of emulated blocks, the memory that kernels reach, and what each access is checked for.
//
// A block's threads are fibers: each runs until its next barrier or exchange of its warp. Kernels call __tsan_* for each
// access (see cuda.h), which finds accesses outside allocations, misaligned ones, and accesses to shared memory by two
// threads with no barrier between them. JOB, written by __init__.py -> RESULT, the arrays after the launch; stdout has
// the faults.
#include "cuda.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

#if defined(__x86_64__)
// swapcontext makes a system call each time, which would take most of the time.
struct Context { void *stack_pointer; };
extern "C" void emu_switch(Context *from, const Context *to);
asm(R"(
.text
.globl emu_switch
emu_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov (%rsi), %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
)");
static void make_context(Context &made, char *stack, size_t size, void (*run)()) {
    void **top = reinterpret_cast<void **>(stack + size) - 2; // aligned to 16 bytes after the return to run
    top[0] = reinterpret_cast<void *>(run);
    top[1] = nullptr;
    made.stack_pointer = top - 6;
}
#else
typedef ucontext_t Context;
static void emu_switch(Context *from, const Context *to) { swapcontext(from, to); }
static void make_context(Context &made, char *stack, size_t size, void (*run)()) {
    getcontext(&made);
    made.uc_stack.ss_sp = stack;
    made.uc_stack.ss_size = size;
    makecontext(&made, run, 0);
}
#endif

namespace {
const size_t GUARD = size_t(4) << 20, STACK = 128 << 10, SHARED_SPACE = size_t(300) << 10;
const unsigned ALL = 0xFFFFFFFFu;
const int MOST_FAULTS = 20;

char *reserve(size_t size) {
    void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        emu::fail("no memory");
    return static_cast<char *>(at);
}

/// Addresses with guards between the allocations.
struct Space {
    char *low = nullptr, *high = nullptr;
    struct Part { char *at; size_t size; std::string name; };
    std::vector<Part> parts;
    bool holds(const char *at) const { return at >= low && at < high; }
    const Part *part(const char *at, size_t size) const {
        for (const Part &each : parts)
            if (at >= each.at && at + size <= each.at + each.size)
                return &each;
        return nullptr;
    }
    const Part *nearest(const char *at) const {
        const Part *best = nullptr;
        size_t least = ~size_t(0);
        for (const Part &each : parts) {
            size_t away = at < each.at ? each.at - at : at < each.at + each.size ? 0 : at - (each.at + each.size) + 1;
            if (away < least)
                least = away, best = &each;
        }
        return best;
    }
};
Space global, shared_memory;

enum State { RUNS, AT_BARRIER, AT_EXCHANGE, ENDED };
struct Thread {
    Context context;
    char *stack = nullptr;
    State state;
    int line;
    dim3 index;
    unsigned mask, epoch; // epoch: how many exchanges of its warp it has passed
    emu::Word word;
    emu::Exchange got;
};
std::vector<Thread> threads;
Context scheduler;
int current, block_threads;
unsigned barrier_epoch;
bool in_kernel;
const emu::Given *arguments;
size_t argument_count;

std::vector<std::string> faults;
unsigned long long loaded, stored, accesses;
unsigned order; // 0 forward, 1 backward, others: a shuffle seeded with it

struct Touch { int thread = -1; unsigned barrier = 0, exchange = 0; bool atomic = false; };
struct Word4 { Touch write, read, other_read; };
std::vector<Word4> touched; // for each 4 bytes of shared memory

std::string where() {
    char text[200];
    snprintf(text, sizeof text, "thread (%u,%u,%u) of block (%u,%u,%u)", threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x,
             blockIdx.y, blockIdx.z);
    return text;
}
void fault(const std::string &kind, const std::string &text) {
    std::string whole = kind + "\t" + text;
    if (faults.size() < size_t(MOST_FAULTS) && std::find(faults.begin(), faults.end(), whole) == faults.end())
        faults.push_back(whole);
}
bool ordered(const Touch &earlier) {
    if (earlier.thread < 0 || earlier.thread == current || earlier.barrier != barrier_epoch)
        return true;
    return earlier.thread / 32 == current / 32 && earlier.exchange < threads[current].epoch;
}
void check_race(const char *at, size_t size, bool writes, bool atomic) {
    if (!emu::cooperative && block_threads == 1)
        return;
    Touch now;
    now.thread = current, now.barrier = barrier_epoch, now.atomic = atomic;
    now.exchange = emu::cooperative ? threads[current].epoch : 0;
    for (size_t word = (at - shared_memory.low) / 4; word <= (at + size - 1 - shared_memory.low) / 4; word++) {
        Word4 &each = touched[word];
        auto races = [&](const Touch &earlier) {
            return earlier.thread >= 0 && !ordered(earlier) && !(atomic && earlier.atomic);
        };
        const Space::Part *part = shared_memory.part(at, size);
        if (part && (races(each.write) || (writes && (races(each.read) || races(each.other_read)))))
            fault("race", "two threads access shared " + part->name + " with no barrier between them, one of them writes");
        if (writes)
            each.write = now;
        if (!writes || atomic) {
            if (each.read.thread >= 0 && each.read.thread != current && each.read.barrier == barrier_epoch)
                each.other_read = each.read;
            each.read = now;
        }
    }
}
void access(const void *address, size_t size, size_t alignment, bool writes, bool atomic = false) {
    if (!in_kernel)
        return;
    const char *at = static_cast<const char *>(address);
    bool in_global = global.holds(at), in_shared = shared_memory.holds(at);
    if (!in_global && !in_shared) {
        if (uintptr_t(at) < 65536)
            emu::fail("memory\tan access near address 0");
        return;
    }
    accesses++;
    Space &space = in_global ? global : shared_memory;
    if (!space.part(at, size)) {
        const Space::Part *near = space.nearest(at);
        long long offset = near ? at - near->at : 0;
        fault("memory", std::string(writes ? "a write" : "a read") + " of " + std::to_string(size) + " bytes outside " +
                            (near ? near->name + " (" + std::to_string(near->size) + " bytes) at byte " +
                                        std::to_string(offset) : "any allocation") + " by " + where());
    } else if (uintptr_t(at) % alignment)
        fault("memory", "a misaligned access of " + std::to_string(size) + " bytes by " + where());
    if (in_global)
        (writes ? stored : loaded) += size;
    else
        check_race(at, size, writes, atomic);
}

void yield_as(State state, int line) {
    Thread &me = threads[current];
    me.state = state, me.line = line;
    emu_switch(&me.context, &scheduler);
}
void body() {
    emu::call(arguments, argument_count);
    threads[current].state = ENDED;
    emu_switch(&threads[current].context, &scheduler);
}
std::vector<unsigned> in_order(unsigned count, unsigned salt) {
    std::vector<unsigned> numbers(count);
    for (unsigned i = 0; i < count; i++)
        numbers[i] = order == 1 ? count - 1 - i : i;
    if (order > 1) {
        unsigned long long state = order * 0x9E3779B97F4A7C15ull + salt * 0xD1B54A32D192ED03ull;
        for (unsigned i = count; i > 1; i--) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            std::swap(numbers[i - 1], numbers[(state >> 33) % i]);
        }
    }
    return numbers;
}
/// Let the lanes of one warp's exchange go on. Lanes that cannot come any more are missing among the given.
void release(int warp, unsigned mask, bool complete) {
    emu::Exchange done = {};
    int line = 0;
    for (int lane = 0; lane < 32 && warp * 32 + lane < block_threads; lane++) {
        Thread &each = threads[warp * 32 + lane];
        if ((mask >> lane & 1) && each.state == AT_EXCHANGE && each.mask == mask)
            done.words[lane] = each.word, done.given |= 1u << lane, line = each.line;
    }
    if (!complete)
        fault("barrier", "an exchange of a warp names lanes that do not take part, line " + std::to_string(line));
    for (int lane = 0; lane < 32; lane++)
        if (done.given >> lane & 1) {
            Thread &each = threads[warp * 32 + lane];
            each.got = done, each.state = RUNS, each.epoch++;
        }
}
bool release_warps(bool only_complete) {
    bool any = false;
    for (int warp = 0; warp * 32 < block_threads; warp++)
        for (int lane = 0; lane < 32 && warp * 32 + lane < block_threads; lane++) {
            Thread &each = threads[warp * 32 + lane];
            if (each.state != AT_EXCHANGE)
                continue;
            bool complete = true;
            for (int other = 0; other < 32; other++)
                if (each.mask >> other & 1) {
                    int number = warp * 32 + other;
                    // Threads that have ended need not take part.
                    complete &= threads[number].state == ENDED ||
                                (threads[number].state == AT_EXCHANGE && threads[number].mask == each.mask);
                }
            if (complete || !only_complete)
                release(warp, each.mask, complete), any = true;
            if (any && !only_complete)
                return true;
        }
    return any;
}
bool release_block() {
    int ended = 0, waiting = 0, first = 0;
    bool same = true;
    for (int i = 0; i < block_threads; i++) {
        ended += threads[i].state == ENDED;
        if (threads[i].state == AT_BARRIER) {
            if (!waiting++)
                first = threads[i].line;
            same &= threads[i].line == first;
        }
    }
    if (!waiting || ended + waiting < block_threads)
        return false;
    if (ended)
        fault("barrier", std::to_string(ended) + " threads of a block ended before the barrier in line " + std::to_string(first));
    if (!same)
        fault("barrier", "threads of a block wait at different barriers, one in line " + std::to_string(first));
    barrier_epoch++;
    for (int i = 0; i < block_threads; i++)
        if (threads[i].state == AT_BARRIER)
            threads[i].state = RUNS;
    return true;
}
void run_cooperating_block(const std::vector<unsigned> &numbers) {
    for (int i = 0; i < block_threads; i++) {
        Thread &each = threads[i];
        if (!each.stack)
            each.stack = reserve(STACK);
        make_context(each.context, each.stack, STACK, body);
        each.state = RUNS, each.epoch = 0;
    }
    for (;;) {
        bool all_ended = true;
        for (unsigned i : numbers)
            if (threads[i].state == RUNS) {
                current = int(i), threadIdx = threads[i].index;
                emu_switch(&scheduler, &threads[i].context);
            }
        for (int i = 0; i < block_threads; i++)
            all_ended &= threads[i].state == ENDED;
        if (all_ended)
            return;
        if (!release_warps(true) && !release_block() && !release_warps(false))
            emu::fail("a block does not go on");
    }
}
void run_block(const std::vector<unsigned> &numbers) {
    if (emu::cooperative)
        return run_cooperating_block(numbers);
    for (unsigned i : numbers) {
        current = int(i), threadIdx = threads[i].index;
        emu::call(arguments, argument_count);
    }
}

struct Variable { int id; char *at; };
std::vector<Variable> shared_variables;
char *next_shared;
const char *dynamic_at;

FILE *result;
template <class T> T take(FILE *job) {
    T value;
    if (fread(&value, sizeof value, 1, job) != 1)
        emu::fail("the job ends early");
    return value;
}
dim3 take_extent(FILE *job) {
    unsigned x = take<unsigned>(job), y = take<unsigned>(job), z = take<unsigned>(job);
    return {x, y, z};
}
} // namespace

namespace emu {
void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    _exit(3);
}
void barrier(int line) { yield_as(AT_BARRIER, line); }
int lane() { return current % 32; }
const Exchange &exchange(unsigned mask, Word word, int line) {
    Thread &me = threads[current];
    // As in CUDA, a warp at the end of a block has only the lanes that exist.
    int lanes = std::min(32, block_threads - current / 32 * 32);
    me.mask = lanes < 32 ? mask & ((1u << lanes) - 1) : mask;
    me.word = word;
    if (!(mask >> lane() & 1))
        fault("barrier", "a lane takes part in an exchange whose mask does not name it, line " + std::to_string(line));
    me.mask |= 1u << lane();
    yield_as(AT_EXCHANGE, line);
    return me.got;
}
Word word_of(const Exchange &done, int source, int line) {
    if (done.given >> source & 1)
        return done.words[source];
    if (current / 32 * 32 + source < block_threads)
        fault("barrier", "a lane reads from a lane that takes no part in the exchange, line " + std::to_string(line));
    return 0x7FC0DEAD7FC0DEADull;
}
void *shared_variable(int id, size_t size, size_t alignment, const char *name) {
    for (const Variable &each : shared_variables)
        if (each.id == id)
            return each.at;
    next_shared += alignment - 1, next_shared -= uintptr_t(next_shared) % alignment;
    char *at = next_shared;
    next_shared += size + 4096;
    if (next_shared > shared_memory.high)
        fail("more shared memory than is emulated");
    shared_memory.parts.push_back({at, size, name});
    shared_variables.push_back({id, at});
    memset(at, 0xA5, size);
    return at;
}
void *dynamic_shared() { return const_cast<char *>(dynamic_at); }
void atomic_access(const void *at, size_t size) {
    access(at, size, size, false, true);
    access(at, size, size, true, true);
}
void trap(int line) {
    fault("memory", "__trap() in line " + std::to_string(line));
}
unsigned long long clock() { return accesses; }
} // namespace emu

#define HOOKS(size)                                                                                               \
    void __tsan_read##size(void *at) { access(at, size, size, false); }                                           \
    void __tsan_write##size(void *at) { access(at, size, size, true); }                                           \
    void __tsan_volatile_read##size(void *at) { access(at, size, size, false); }                                  \
    void __tsan_volatile_write##size(void *at) { access(at, size, size, true); }                                  \
    void __tsan_unaligned_read##size(void *at) { access(at, size, 1, false); }                                    \
    void __tsan_unaligned_write##size(void *at) { access(at, size, 1, true); }
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_read_range(void *at, size_t size) { access(at, size, 1, false); }
void __tsan_write_range(void *at, size_t size) { access(at, size, 1, true); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
}

int main(int, char **names) {
    FILE *job = fopen(names[1], "rb");
    order = take<unsigned>(job);
    gridDim = take_extent(job), blockDim = take_extent(job);
    unsigned dynamic = take<unsigned>(job), count = take<unsigned>(job);
    block_threads = int(blockDim.x * blockDim.y * blockDim.z);
    if (block_threads < 1 || block_threads > 1024)
        emu::fail("a block has 1 to 1024 threads");
    struct Item { char kind; size_t size; std::vector<char> data; char *at; };
    std::vector<Item> items(count);
    size_t space = GUARD;
    for (Item &item : items) {
        item.kind = take<char>(job);
        std::string name(take<unsigned>(job), ' ');
        if (fread(&name[0], 1, name.size(), job) != name.size())
            emu::fail("the job ends early");
        item.size = take<unsigned long long>(job);
        item.data.resize(item.size);
        if (fread(item.data.data(), 1, item.size, job) != item.size)
            emu::fail("the job ends early");
        if (item.kind == 'c' && !emu::constant(name.c_str(), item.data.data(), item.size))
            emu::fail(("no __constant__ " + name + " of this size").c_str());
        if (item.kind == 'a')
            global.parts.push_back({nullptr, item.size, name}), space += (item.size + 4095) / 4096 * 4096 + GUARD;
    }
    fclose(job);
    global.low = reserve(space), global.high = global.low + space;
    shared_memory.low = reserve(SHARED_SPACE), shared_memory.high = shared_memory.low + SHARED_SPACE;
    touched.resize(SHARED_SPACE / 4);
    char *at = global.low + GUARD;
    size_t part = 0;
    std::vector<emu::Given> given;
    for (Item &item : items) {
        if (item.kind == 'a') {
            global.parts[part++].at = item.at = at;
            memcpy(at, item.data.data(), item.size);
            at += (item.size + 4095) / 4096 * 4096 + GUARD;
            given.push_back({&item.at, sizeof item.at});
        } else if (item.kind == 's')
            given.push_back({item.data.data(), item.size});
    }
    arguments = given.data(), argument_count = given.size();
    threads.resize(block_threads);
    for (int i = 0; i < block_threads; i++)
        threads[i].index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
    for (unsigned number : in_order(gridDim.x * gridDim.y * gridDim.z, 0)) {
        blockIdx = {number % gridDim.x, number / gridDim.x % gridDim.y, number / gridDim.x / gridDim.y};
        shared_memory.parts.clear(), shared_variables.clear();
        next_shared = shared_memory.low + 4096;
        dynamic_at = next_shared;
        memset(next_shared, 0xA5, dynamic);
        shared_memory.parts.push_back({next_shared, dynamic, "memory"});
        next_shared += dynamic + 4096;
        barrier_epoch++;
        in_kernel = true;
        run_block(in_order(unsigned(block_threads), number + 1));
        in_kernel = false;
    }
    result = fopen(names[2], "wb");
    for (const Item &item : items)
        if (item.kind == 'a')
            fwrite(item.at, 1, item.size, result);
    fclose(result);
    printf("bytes\t%llu\t%llu\n", loaded, stored);
    for (const std::string &each : faults)
        printf("%s\n", each.c_str());
    return 0;
}
