// One program that fails in the ways that its first argument names, after one good launch where that is possible.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__global__ void good(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * i;
}

__global__ void outside(float *x) { x[(1ull << 40) + threadIdx.x] = 1.0f; }

__global__ void waits(volatile int *flag) {
    while (*flag == 0) {
    }
}

__global__ void writes_all(float *x, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (; i < n; i += gridDim.x * (size_t)blockDim.x) x[i] += 1.0f;
}

static void launch_good() {
    int n = 1 << 20;
    float *x;
    if (cudaMalloc(&x, n * sizeof(float)) != cudaSuccess) exit(90);
    good<<<n / 256, 256>>>(x, n);
    if (cudaDeviceSynchronize() != cudaSuccess) exit(91);
    cudaFree(x);
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "well";
    if (!strcmp(how, "nothing")) return 0;
    if (!strcmp(how, "child")) {
        pid_t child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], "well", (char *)0);
            _exit(92);
        }
        return 0;  // which does not wait for it
    }
    launch_good();
    if (!strcmp(how, "well")) return 0;
    if (!strcmp(how, "many")) {
        for (int i = 0; i < 2000; i++) launch_good();
        return 0;
    }
    if (!strcmp(how, "exit42")) {
        fprintf(stderr, "no such matrix\n");
        return 42;
    }
    if (!strcmp(how, "segv")) raise(SIGSEGV);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "killed")) raise(SIGKILL);
    if (!strcmp(how, "illegal")) {
        outside<<<1, 32>>>(0);
        return cudaDeviceSynchronize() == cudaSuccess ? 0 : 7;
    }
    if (!strcmp(how, "hang")) {
        int *flag;
        if (cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped) != cudaSuccess) return 93;
        *flag = 0;
        waits<<<1, 1>>>(flag);
        cudaDeviceSynchronize();
        return 0;
    }
    if (!strcmp(how, "sleep")) {
        sleep(600);
        return 0;
    }
    if (!strcmp(how, "fills")) {  // and leaves ncu no room to save what it overwrites
        size_t unused, all;
        cudaMemGetInfo(&unused, &all);
        float *x;
        size_t bytes = unused - (size_t)(256 << 20);
        if (cudaMalloc(&x, bytes) != cudaSuccess) return 94;
        writes_all<<<1024, 256>>>(x, bytes / sizeof(float));
        return cudaDeviceSynchronize() == cudaSuccess ? 0 : 8;
    }
    return 95;
}
