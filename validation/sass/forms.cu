// Instructions that the catalogue and the accuracy programs do not use: tensor cores of each generation, bulk copies,
// barriers in shared memory, atomics of each width, textures of each shape. Nothing here is meant to be run.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

typedef unsigned long long u64;
typedef unsigned u32;

__global__ void matrices(u32 *out, const u32 *in)
{
    __shared__ u32 tile[1024];
    u32 at = (u32)__cvta_generic_to_shared(tile) + threadIdx.x * 16;
    u32 a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
    out[0] = a;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    out[1] = a + b;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at));
    out[2] = a + b + c + d;
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(a), "r"(b), "r"(c),
                 "r"(d));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1,%2};" ::"r"(at), "r"(a), "r"(b));
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(a));
#endif
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(a) : "r"(b));
    out[3] = a + in[0];
}

#define MMA4(NAME, OP)                                                                                                 \
    __global__ void NAME(float *o, const u32 *i)                                                                       \
    {                                                                                                                  \
        float c0 = o[0], c1 = o[1], c2 = o[2], c3 = o[3];                                                              \
        asm volatile(OP " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                                       \
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                                          \
                     : "r"(i[0]), "r"(i[1]), "r"(i[2]), "r"(i[3]), "r"(i[4]), "r"(i[5]));                              \
        o[0] = c0, o[1] = c1, o[2] = c2, o[3] = c3;                                                                    \
    }
#define MMA2(NAME, OP)                                                                                                 \
    __global__ void NAME(float *o, const u32 *i)                                                                       \
    {                                                                                                                  \
        float c0 = o[0], c1 = o[1], c2 = o[2], c3 = o[3];                                                              \
        asm volatile(OP " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"                                                \
                     : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                                          \
                     : "r"(i[0]), "r"(i[1]), "r"(i[4]));                                                               \
        o[0] = c0, o[1] = c1, o[2] = c2, o[3] = c3;                                                                    \
    }
#define IMMA4(NAME, OP, A, B)                                                                                          \
    __global__ void NAME(int *o, const u32 *i)                                                                         \
    {                                                                                                                  \
        int c0 = o[0], c1 = o[1], c2 = o[2], c3 = o[3];                                                                \
        asm volatile(OP " {%0,%1,%2,%3}, {" A "}, {" B "}, {%0,%1,%2,%3};"                                             \
                     : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)                                                          \
                     : "r"(i[0]), "r"(i[1]), "r"(i[2]), "r"(i[3]), "r"(i[4]), "r"(i[5]));                              \
        o[0] = c0, o[1] = c1, o[2] = c2, o[3] = c3;                                                                    \
    }
#if __CUDA_ARCH__ >= 800
MMA4(mma_bf16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
MMA4(mma_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA2(mma_f16_8, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
MMA4(mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
MMA2(mma_tf32_4, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32")
IMMA4(imma_32, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "%4,%5,%6,%7", "%8,%9")
IMMA4(imma_16, "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.u8.s8.s32", "%4,%5", "%8")
#if __CUDA_ARCH__ < 1000
IMMA4(imma_64, "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "%4,%5,%6,%7", "%8,%9")
IMMA4(bmma_256, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "%4,%5,%6,%7", "%8,%9")
IMMA4(bmma_128, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "%4,%5", "%8")
#endif
#if __CUDA_ARCH__ >= 890
MMA4(mma_e4m3, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif

__global__ void mma_half_result(u32 *o, const u32 *i)
{
    u32 c0 = o[0], c1 = o[1];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(c0), "+r"(c1)
                 : "r"(i[0]), "r"(i[1]), "r"(i[2]), "r"(i[3]), "r"(i[4]), "r"(i[5]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(c0), "+r"(c1)
                 : "r"(i[0]), "r"(i[1]), "r"(i[4]));
    o[0] = c0, o[1] = c1;
}

__global__ void mma_sparse(float *o, const u32 *i)
{
    float c0 = o[0], c1 = o[1], c2 = o[2], c3 = o[3];
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, 0x0;"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                 : "r"(i[0]), "r"(i[1]), "r"(i[2]), "r"(i[3]), "r"(i[4]), "r"(i[5]), "r"(i[6]), "r"(i[7]), "r"(i[8]));
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;"
                 : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)
                 : "r"(i[0]), "r"(i[1]), "r"(i[4]), "r"(i[5]), "r"(i[8]));
    o[0] = c0, o[1] = c1, o[2] = c2, o[3] = c3;
}

__global__ void dmma(double *o, const double *i)
{
    double c0 = o[0], c1 = o[1];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c0), "+d"(c1)
                 : "d"(i[0]), "d"(i[1]));
    o[0] = c0, o[1] = c1;
#if __CUDA_ARCH__ >= 900
    double d0 = o[2], d1 = o[3], d2 = o[4], d3 = o[5];
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
                 : "d"(i[0]), "d"(i[1]), "d"(i[2]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3)
                 : "d"(i[0]), "d"(i[1]), "d"(i[2]), "d"(i[3]), "d"(i[4]), "d"(i[5]));
    o[2] = d0, o[3] = d1, o[4] = d2, o[5] = d3;
#endif
}

#endif

__global__ void atomics(u32 *w, u64 *l, double *d, __half2 *h, float *f, int *s)
{
    __shared__ u32 sw[64];
    __shared__ u64 sl[64];
    u32 t = threadIdx.x;
    w[t + 100] = atomicAdd(w, t) + atomicMax(w + 1, t) + atomicExch(w + 2, t) + atomicCAS(w + 3, t, t + 5);
    l[t + 100] = atomicAdd(l, (u64)t) + atomicExch(l + 2, (u64)t * 7) + atomicCAS(l + 3, l[60], l[61]) +
                 atomicAnd(l + 4, (u64)t) + atomicMin(l + 5, (u64)t);
    d[t + 100] = atomicAdd(d, d[70]);
    f[t + 100] = atomicAdd(f, f[70]);
    h[t + 100] = atomicAdd(h, h[70]);
    s[t + 100] = atomicMin(s, s[70]) + atomicInc(w + 9, 5u) + atomicDec(w + 10, 7u);
    sw[t] = t, sl[t] = t;
    __syncthreads();
    w[t + 200] = atomicAdd(sw + w[0], t) + atomicCAS(sw + w[1], w[2], w[3]) + atomicExch(sw + w[4], w[5]) +
                 atomicMax(sw + w[6], 9u);
    l[t + 200] = atomicCAS(sl + w[7], l[8], l[9]) + atomicExch(sl + w[10], l[10]) + atomicAdd(sl + w[11], l[12]);
    atomicAdd(sw + w[12], 1u), atomicOr(sw + w[13], 3u), atomicAdd(sl + 3, 1ull);
    atomicAdd(l + 7, 1ull), atomicOr(w + 8, 3u), atomicAdd(d + 9, 1.0), atomicMax((long long *)l + 10, 5ll);
    atomicAdd((u32 *)__cvta_shared_to_generic(w[14]), 3u);
    l[7] = atomicCAS((u64 *)w[20], l[1], l[2]);
#if __CUDA_ARCH__ >= 900
    float4 v = atomicAdd((float4 *)f, float4{f[80], f[81], f[82], f[83]});
    float2 v2 = atomicAdd((float2 *)(f + 8), float2{f[84], f[85]});
    f[300] = v.x + v.y + v.z + v.w + v2.x + v2.y;
    atomicAdd((float4 *)(f + 16), float4{f[80], f[81], f[82], f[83]});
    asm volatile("{.reg .b128 a, b, c; mov.b128 a, {%1, %2}; mov.b128 b, {%2, %3};\n"
                 " atom.cas.b128.global c, [%0], a, b; mov.b128 {%1, %2}, c;}" ::"l"(l + 20),
                 "l"(l[22]), "l"(l[23]), "l"(l[24]));
    asm volatile("{.reg .b128 a, c; mov.b128 a, {%1, %2};\n"
                 " atom.exch.b128.global c, [%0], a;}" ::"l"(l + 20),
                 "l"(l[22]), "l"(l[23]));
#endif
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o, float2 *p, float *q, float x, float y,
                         float z)
{
    o[0] = tex1D<float4>(t, x), o[1] = tex2D<float4>(t, x, y), o[2] = tex3D<float4>(t, x, y, z);
    o[3] = tex1DLayered<float4>(t, x, 3), o[4] = tex2DLayered<float4>(t, x, y, (int)z);
    o[5] = texCubemap<float4>(t, x, y, z), o[6] = texCubemapLayered<float4>(t, x, y, z, (int)x);
    o[7] = tex1DLod<float4>(t, x, z), o[8] = tex2DLod<float4>(t, x, y, z), o[9] = tex3DLod<float4>(t, x, y, z, x);
    o[10] = tex2DLayeredLod<float4>(t, x, y, (int)z, x);
    o[11] = tex1DGrad<float4>(t, x, y, z), o[12] = tex2DGrad<float4>(t, x, y, float2{x, y}, float2{z, x});
    o[13] = tex3DGrad<float4>(t, x, y, z, float4{x, y, z, x}, float4{z, x, y, z});
    o[14] = tex2Dgather<float4>(t, x, y, 0), o[15] = tex2Dgather<float4>(t, x, y, 2);
    o[16] = tex1Dfetch<float4>(t, (int)x);
    p[0] = tex2D<float2>(t, x, y), p[1] = tex1Dfetch<float2>(t, (int)y);
    q[0] = tex2D<float>(t, x, y), q[1] = tex3D<float>(t, x, z, y), q[2] = tex1Dfetch<float>(t, (int)z);
    q[3] = tex2D<float4>(t, y, x).w, q[4] = tex2D<float4>(t, y, z).y;
    float4 v = tex2D<float4>(t, z, y);
    q[5] = v.x + v.y + v.w;
    o[17] = surf1Dread<float4>(s, (int)x), o[18] = surf2Dread<float4>(s, (int)x, (int)y);
    o[19] = surf3Dread<float4>(s, (int)x, (int)y, (int)z), o[20] = surf2DLayeredread<float4>(s, (int)x, (int)y, (int)z);
    q[6] = surf2Dread<float>(s, (int)y, (int)z), p[2] = surf2Dread<float2>(s, (int)y, (int)z);
    q[7] = (float)surf2Dread<unsigned char>(s, (int)y, (int)z) + (float)surf1Dread<unsigned short>(s, (int)y);
    surf1Dwrite(o[1], s, (int)x), surf2Dwrite(o[2], s, (int)x, (int)y), surf3Dwrite(o[3], s, (int)x, (int)y, (int)z);
    surf2Dwrite(q[1], s, (int)x, (int)z), surf2Dwrite(p[1], s, (int)x, (int)z);
    surf2DLayeredwrite(p[1], s, (int)x, (int)z, (int)y), surfCubemapwrite(p[1], s, (int)x, (int)z, (int)y);
    surf2Dwrite((unsigned char)x, s, (int)x, (int)z), surf1Dwrite((unsigned short)x, s, (int)x);
}

__global__ void moves(int *o, u64 *l, double *d, const int *i, float *f)
{
#if __CUDA_ARCH__ >= 800
    o[0] = __reduce_add_sync(~0u, i[0]), o[1] = __reduce_max_sync(~0u, (u32)i[1]), o[2] = __reduce_and_sync(~0u, i[2]);
#endif
    o[3] = __match_any_sync(~0u, i[3]), o[4] = __match_any_sync(~0u, l[4]);
    int all;
    o[5] = __match_all_sync(~0u, i[5], &all) + all, o[6] = __match_all_sync(~0u, l[6], &all) * all;
    o[7] = __any_sync(~0u, i[7]), o[8] = __all_sync(~0u, i[8]), o[9] = __ballot_sync(i[10], i[9] > 3);
    o[10] = __clzll(l[10]) + __popcll(l[11]) + __ffsll(l[12]) + __brevll(l[13]) + __clz(i[9]);
    o[11] = __byte_perm(i[1], i[2], i[3]), o[12] = __vabsdiffu4(i[4], i[5]), o[13] = __sad(i[6], i[7], i[8]);
    o[14] = __syncthreads_count(i[9]) + __syncthreads_or(i[10]) + __syncthreads_and(i[11]);
    l[1] = clock64(), o[15] = clock(), l[2] = l[3] * l[5] + l[7], l[4] = __umul64hi(l[8], l[9]), l[6] = l[3] / l[5];
    l[7] = l[1] << i[2], l[8] = (long long)l[2] >> i[3], l[9] = min((long long)l[10], (long long)l[11]);
    l[12] = l[13] < l[14] ? l[15] : l[16], l[17] = l[18] & l[19], l[20] = (u64)(i[20]) * (u32)i[21] + l[22];
    d[1] = (double)(long long)l[30], d[2] = (double)i[3], d[3] = (double)f[3], d[4] = fmin(d[5], d[6]);
    d[7] = rint(d[8]), d[9] = sqrt(d[10]), d[11] = 1 / d[12], d[13] = d[14] < d[15] ? d[16] : d[17];
    l[31] = (u64)f[4], l[32] = (long long)d[18], o[16] = (int)d[19], f[5] = (float)(long long)l[33], f[6] = (float)d[20];
    *(__half *)(o + 17) = __double2half(d[21]), *(__half *)(o + 18) = __float2half(f[7]);
    f[8] = __half2float(*(const __half *)(i + 19)), *(__half *)(o + 20) = __ull2half_rn(l[34]);
    l[35] = __half2ull_rz(*(const __half *)(i + 36)), f[9] = truncf(f[10]), f[11] = ceilf(f[12]);
    *(__half2 *)(o + 21) = __hmax2(*(__half2 *)(o + 22), *(__half2 *)(o + 23));
    o[24] = __hbeq2(*(__half2 *)(o + 25), *(__half2 *)(o + 26));
    *(__half2 *)(o + 27) = __hge2(*(__half2 *)(o + 28), *(__half2 *)(o + 29));
    *(__half2 *)(o + 30) = h2exp2(*(__half2 *)(o + 31)), *(__half *)(o + 32) = hrcp(*(__half *)(o + 33));
    f[13] = __shfl_sync(i[0], f[14], i[2]), d[22] = __shfl_xor_sync(~0u, d[23], 3);
    o[34] = __dp2a_lo(i[1], i[2], i[3]), o[35] = __viaddmax_s16x2(i[4], i[5], i[6]), o[36] = __vimax3_s32(i[1], i[2], i[3]);
    bool smaller;
    o[37] = __vibmin_s32(i[10], i[11], &smaller) + smaller, o[38] = __vibmax_u16x2(i[12], i[13], &smaller, &smaller);
    o[39] = __isShared(o + 3) + __isGlobal(o + 4) + __isLocal(o + 5) + __isConstant(o + 6);
    o[40] = __funnelshift_l(i[1], i[2], i[3]);
    __nanosleep(i[7]);
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;");
#endif
    asm volatile("prefetch.global.L2 [%0];" ::"l"(l));
#if __CUDA_ARCH__ >= 800
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(l));
#endif
    __threadfence_system();
    asm volatile("bar.sync %0, %1;" ::"r"(i[50]), "r"(i[51]));
    asm volatile("bar.arrive %0, %1;" ::"r"(i[52]), "r"(i[53]));
    asm volatile("brkpt;");
    if (i[60] == 7) asm volatile("trap;");
}

typedef void (*Function)(int *);
__device__ __noinline__ void one(int *p) { p[0] = p[9] * 3; }
__device__ __noinline__ void two(int *p) { p[1] = p[8] / p[7]; }
__global__ void calls(Function *table, int *o, int which)
{
    table[which](o);
    (which > 3 ? one : two)(o);
    switch (o[3]) {
    case 0: o[4] = 3; break;
    case 1: o[5] = atomicAdd(o, 1); break;
    case 2: o[6] = o[7] * 3; break;
    case 3: one(o); break;
    case 4: o[8] = __popc(o[9]); break;
    case 5: o[10] = o[11] / o[12]; break;
    }
    char *block = (char *)alloca(which);
    block[o[3]] = 3;
    o[5] = block[o[4]];
}

__constant__ float table[1024];
__global__ void constants(float *o, int at, const int *i)
{
    o[0] = table[i[0]], o[1] = table[at], *(float4 *)(o + 4) = *(float4 *)(table + 4 * i[1]);
    *(float2 *)(o + 8) = *(float2 *)(table + 2 * at), o[10] = ((const unsigned char *)table)[i[5]];
    float x = o[20];
#pragma unroll 1
    for (int k = 0; k < at; ++k) x = x * table[k] + table[k + 5];
    o[20] = x;
    double y = o[30];
    o[31] = float(y * ((const double *)table)[at]);
}

#if __CUDA_ARCH__ >= 900
struct Map {
    char bytes[128];
};
__global__ void bulk_copies(char *g, const __grid_constant__ Map map_,  int x, int y, u64 policy)
{
    const Map *map = &map_;
    __shared__ alignas(128) char tile[4096];
    __shared__ u64 barrier;
    u32 t = (u32)__cvta_generic_to_shared(tile), b = (u32)__cvta_generic_to_shared(&barrier);
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(x));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(y));
    u64 state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b));
    if (x > 3) asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(b + x));
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(t), "l"(map), "r"(b), "r"(x));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4}], [%2];" ::"r"(t), "l"(map), "r"(b), "r"(x), "r"(y));
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%3,%4,%3}], [%2], %5;" ::"r"(t), "l"(map), "r"(b), "r"(x), "r"(y), "l"(policy));
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3,%4,%3,%4,%3}], [%2], %5;" ::"r"(t), "l"(map), "r"(b), "r"(x), "r"(y), "h"((short)x));
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3,%4,%3,%4}], [%2], {%5,%5};" ::"r"(t), "l"(map), "r"(b), "r"(x), "r"(y), "h"((short)x));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(t), "l"(g), "r"(x), "r"(b));
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}" ::"r"(b), "r"(x));
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(g), "r"(t), "r"(y));
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(g), "r"(t), "r"(y));
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2,%3}], [%1];" ::"l"(map), "r"(t), "r"(x), "r"(y));
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%0, {%2,%3}], [%1];" ::"l"(map), "r"(t), "r"(x), "r"(y));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1,%2}];" ::"l"(map), "r"(x), "r"(y));
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(g), "r"(y));
    asm volatile("prefetch.tensormap [%0];" ::"l"(map));
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 1;");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.mbarrier.arrive.noinc.shared.b64 [%2];" ::"r"(t), "l"(g + 64), "r"(b));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(t + x), "l"(g + x), "r"(y));
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;");
    u32 remote, rank;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(t), "r"(x));
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(rank));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(remote), "r"(rank), "r"(b + y));
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1,%1,%1,%1}, [%2];" ::"r"(remote), "r"(rank), "r"(b + y));
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(remote), "r"(rank), "r"(b + y));
    u32 leader;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}" : "=r"(leader));
    asm volatile("ld.shared::cluster.v2.u32 {%0,%1}, [%2];" : "=r"(rank), "=r"(x) : "r"(remote));
    ((u32 *)g)[0] = leader + rank + x + (u32)state;
    asm volatile("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;");
    float m;
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" : "=f"(m) : "l"(g));
    asm volatile("multimem.red.relaxed.sys.global.add.f32 [%0], %1;" ::"l"(g), "f"(m));
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define TWO(c, i) "+f"(c[i]), "+f"(c[i + 1])
#define EIGHT(c, i) TWO(c, i), TWO(c, i + 2), TWO(c, i + 4), TWO(c, i + 6)
#define FLOATS32(c) EIGHT(c, 0), EIGHT(c, 8), EIGHT(c, 16), EIGHT(c, 24)
#define LIST32                                                                                                         \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"  \
    "%30,%31}"
__global__ void warpgroup(float *o, u64 a, u64 b, const u32 *r)
{
    float c[32];
    for (int i = 0; i < 32; ++i) c[i] = o[i];
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST32 ", %32, %33, 1, 1, 1, 0, 0;"
                 : FLOATS32(c)
                 : "l"(a), "l"(b));
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " LIST32
                 ", %32, %33, p, 1, 1, 0, 1;}"
                 : FLOATS32(c)
                 : "l"(a), "l"(b), "r"(r[9]));
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " LIST32
                 ", {%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
                 : FLOATS32(c)
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 " LIST32 ", %32, %33, 1, 1, 1;"
                 : FLOATS32(c)
                 : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e5m2 " LIST32 ", %32, %33, 1, 1, 1;"
                 : FLOATS32(c)
                 : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    for (int i = 0; i < 32; ++i) o[i] = c[i];
    u32 h0 = r[0], h1 = r[1], h2 = r[2], h3 = r[3];
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+r"(h0), "+r"(h1), "+r"(h2), "+r"(h3)
                 : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, %4, %5, 1;"
                 : "+r"(h0), "+r"(h1), "+r"(h2), "+r"(h3)
                 : "l"(a), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 {%0,%1,%2,%3}, {%4,%5,%6,%7}, %8, 1;"
                 : "+r"(h0), "+r"(h1), "+r"(h2), "+r"(h3)
                 : "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7]), "l"(b));
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%0,%1,%2,%3}, %4, %5, 1;"
                 : "+r"(h0), "+r"(h1), "+r"(h2), "+r"(h3)
                 : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    o[40] = __uint_as_float(h0 + h1 + h2 + h3);
}
#endif

#if defined __CUDA_ARCH_FEAT_SM100_ALL
__global__ void tensor_memory(u32 *o, u64 a, u64 b, u32 shape, u32 at, u64 barrier64)
{
    __shared__ u32 slot;
    __shared__ u64 barrier;
    u32 s = (u32)__cvta_generic_to_shared(&slot), w = (u32)__cvta_generic_to_shared(&barrier);
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(s), "r"(64));
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    u32 d = slot;
    asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a), "l"(b), "r"(shape), "r"(at));
    asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::tf32 [%0], [%1], %2, %3, p;}" ::"r"(d), "r"(at), "l"(b), "r"(shape), "r"(at));
    asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a), "l"(b), "r"(shape), "r"(at));
    asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::i8 [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a), "l"(b), "r"(shape), "r"(at));
    asm volatile("{.reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X [%0], %1, %2, %3, [%5], [%6], p;}" ::"r"(d), "l"(a), "l"(b), "r"(shape), "r"(at), "r"(at + 8), "r"(at + 16));
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(w));
    asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(d), "l"(a));
    u32 r[8];
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(d));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    for (int i = 0; i < 8; ++i) o[i] = r[i];
    asm volatile("tcgen05.ld.sync.aligned.16x64b.x2.b32 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(d));
    asm volatile("tcgen05.ld.sync.aligned.16x128b.x2.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]) : "r"(d));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    for (int i = 0; i < 6; ++i) o[i + 10] = r[i];
    asm volatile("tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]) : "r"(d));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(r[0]) : "r"(d));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 {%0,%1,%2,%3}, [%4];" : "=r"(r[1]), "=r"(r[6]), "=r"(r[7]), "=r"(o[40]) : "r"(d));
    asm volatile("tcgen05.wait::ld.sync.aligned;");
    asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%4], {%0,%1,%2,%3};" ::"r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(d));
    asm volatile("tcgen05.st.sync.aligned.16x128b.x1.b32 [%2], {%0,%1};" ::"r"(r[0]), "r"(r[3]), "r"(d));
    asm volatile("tcgen05.st.sync.aligned.16x256b.x1.b32 [%4], {%0,%1,%2,%3};" ::"r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]), "r"(d));
    asm volatile("tcgen05.wait::st.sync.aligned;");
    asm volatile("tcgen05.fence::before_thread_sync;");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(d), "r"(64));
    o[30] = r[0] + r[1] + r[6] + r[7];
}
#endif

#if __CUDA_ARCH__ >= 1000
__global__ void packed(float2 *f, u64 *l, const int *i, float *g)
{
    asm volatile("fma.rn.f32x2 %0, %1, %2, %0;" : "+l"(l[0]) : "l"(l[1]), "l"(l[2]));
    asm volatile("add.rn.f32x2 %0, %1, %0;" : "+l"(l[3]) : "l"(l[4]));
    asm volatile("mul.rn.f32x2 %0, %1, %0;" : "+l"(l[5]) : "l"(l[6]));
    u64 v0 = l[10], v1 = l[11], v2 = l[12], v3 = l[13];
    asm volatile("ld.global.v4.b64 {%0,%1,%2,%3}, [%4];" : "=l"(v0), "=l"(v1), "=l"(v2), "=l"(v3) : "l"(l + 16));
    asm volatile("st.global.v4.b64 [%4], {%0,%1,%2,%3};" ::"l"(v0), "l"(v1), "l"(v2), "l"(v3), "l"(l + 32));
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
    asm volatile("redux.sync.min.f32 %0, %1, 0xffffffff;" : "=f"(g[0]) : "f"(g[1]));
#endif
    l[7] = min(l[8], l[9]), l[10] = l[11] + l[12] + l[13], l[20] = l[21] - l[22];
    g[3] = fmaxf(g[4], fmaxf(g[5], g[6])), g[7] = __fmaf_rn(g[8], 3.f, 1.f);
}
#endif
