#pragma once
// Hopper's instructions as functions, one instruction each: barriers that count bytes (mbarrier), copies of
// boxes of tensors (TMA), products of warpgroups (wgmma), and the exchange of registers between warpgroups
// (setmaxnreg). No other file has inline PTX of these but profiling/hopper_wide_products.cuh, of larger
// products, and linear/hopper_cluster.cuh, of clusters.
//
// A product of one warpgroup is D[64][n] += A[64][k] * B[k][n], n = 64, 128 or 192, with 32 bytes of k from shared
// memory: 16 elements of 16 bits or 8 of TF32, which is FP32 whose low bits the product leaves out. With
// group = lane / 4 and member = lane % 4 a lane of warp w (of four) holds in d[4 j], d[4 j + 1] row
// 16 w + group, columns 8 j + 2 member and one more, and in d[4 j + 2], d[4 j + 3] the same of row
// 16 w + group + 8; j < n / 8.
//
// Source: NVIDIA, "Parallel Thread Execution ISA", sections "Asynchronous Warpgroup Level Matrix
// Instructions", "mbarrier", "cp.async.bulk.tensor", "setmaxnreg". Needs sm_90a: kernels leave their bodies
// out where they are compiled for another.

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime.h>

#include "gpu/ops/mma.cuh"

namespace warpscope::ops::conv2d::fused::hopper {

using mma::shared_address;
using mma::SharedAddress;

// ---- barriers ----

__device__ __forceinline__ void make_barrier(SharedAddress barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// After this thread's writes to shared memory, before the block's __syncthreads: products and the copy
/// engine see them.
__device__ __forceinline__ void publish_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// After the barriers are made, before the block's __syncthreads: they are known to the copy engine too.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  publish_writes();
}

__device__ __forceinline__ void arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives and adds `bytes` to what the phase still waits for.
__device__ __forceinline__ void arrive_expecting(SharedAddress barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/// Waits until the phase of this parity is complete; a new barrier is in the phase of parity 0.
__device__ __forceinline__ void wait(SharedAddress barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra passed;\n"
      "bra again;\n"
      "passed:\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- copies ----

__device__ __forceinline__ void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<std::uint64_t>(&map)) : "memory");
}

/// Copies a box of a tensor of five dimensions, innermost coordinate first, to shared memory; what lies
/// outside the tensor becomes zero. `barrier` gets the box's bytes.
__device__ __forceinline__ void load_box(SharedAddress to, const CUtensorMap& map, SharedAddress barrier,
                                         int c0, int c1, int c2, int c3, int c4) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
      : "memory");
}

/// The same of three dimensions.
__device__ __forceinline__ void load_box(SharedAddress to, const CUtensorMap& map, SharedAddress barrier,
                                         int c0, int c1, int c2) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(reinterpret_cast<std::uint64_t>(&map)), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
      : "memory");
}

/// Sixteen bytes to global memory, by one instruction whatever registers they are in.
__device__ __forceinline__ void write_chunk(void* to, const unsigned (&w)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]),
               "r"(w[3])
               : "memory");
}

/// Reads 16 bytes that nobody writes meanwhile; the compiler keeps the order of such reads.
__device__ __forceinline__ void read_chunk(unsigned (&w)[4], const void* from) {
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
               : "l"(from));
}

/// Prefetches a cache line into L2.
__device__ __forceinline__ void prefetch_line(const void* from) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

// ---- registers ----

/// All warps of the warpgroup give registers back, or wait until they have as many.
template <int kRegisters>
__device__ __forceinline__ void shrink_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void grow_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- products ----

/// Before the first product, and where other instructions wrote the sums.
__device__ __forceinline__ void fence_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Closes a group of products.
__device__ __forceinline__ void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most `kPending` of the newest groups are not complete.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// The instructions name their sums one by one: their places in the text, and the operands.
// clang-format off
#define WARPSCOPE_PLACES_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WARPSCOPE_PLACES_64 \
  WARPSCOPE_PLACES_32 ", " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WARPSCOPE_PLACES_96 \
  WARPSCOPE_PLACES_64 ", " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WARPSCOPE_SUMS_8(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), \
  "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define WARPSCOPE_SUMS_FROM(i) \
  WARPSCOPE_SUMS_8(i), WARPSCOPE_SUMS_8(i + 8), WARPSCOPE_SUMS_8(i + 16), WARPSCOPE_SUMS_8(i + 24)
#define WARPSCOPE_SUMS_32 WARPSCOPE_SUMS_FROM(0)
#define WARPSCOPE_SUMS_64 WARPSCOPE_SUMS_32, WARPSCOPE_SUMS_FROM(32)
#define WARPSCOPE_SUMS_96 WARPSCOPE_SUMS_64, WARPSCOPE_SUMS_FROM(64)

/// D = A B, plus D if `add`, of two operands in shared memory by their descriptors. kTurned: 0 if k runs along the rows
/// of the operand's tile, 1 if it runs across them (16 bits only). A thread has `count` sums; behind the type come the
/// numbers of the other operands.
#define WARPSCOPE_MULTIPLY(Math, count, shape, type, first, second, adds, turned_a, turned_b)                  \
  template <int kTurnedA, int kTurnedB>                                                                        \
  __device__ __forceinline__ void multiply(mma::Math, float (&d)[count], std::uint64_t a, std::uint64_t b,     \
                                           bool add) {                                                         \
    asm volatile(                                                                                              \
        "{\n"                                                                                                  \
        ".reg .pred add;\n"                                                                                    \
        "setp.ne.b32 add, %" #adds ", 0;\n"                                                                    \
        "wgmma.mma_async.sync.aligned." shape ".f32." type "." type " "                                        \
        "{" WARPSCOPE_PLACES_##count "}, "                                                                     \
        "%" #first ", %" #second ", add, 1, 1, %" #turned_a ", %" #turned_b ";\n"                              \
        "}"                                                                                                    \
        : WARPSCOPE_SUMS_##count                                                                               \
        : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(kTurnedA), "n"(kTurnedB)                             \
        : "memory");                                                                                           \
  }
WARPSCOPE_MULTIPLY(Bf16, 64, "m64n128k16", "bf16", 64, 65, 66, 67, 68)
WARPSCOPE_MULTIPLY(Fp16, 64, "m64n128k16", "f16", 64, 65, 66, 67, 68)
WARPSCOPE_MULTIPLY(Bf16, 32, "m64n64k16", "bf16", 32, 33, 34, 35, 36)
WARPSCOPE_MULTIPLY(Fp16, 32, "m64n64k16", "f16", 32, 33, 34, 35, 36)
WARPSCOPE_MULTIPLY(Bf16, 96, "m64n192k16", "bf16", 96, 97, 98, 99, 100)
WARPSCOPE_MULTIPLY(Fp16, 96, "m64n192k16", "f16", 96, 97, 98, 99, 100)

/// The same in TF32, which is not turned.
#define WARPSCOPE_MULTIPLY_TF32(count, shape, first, second, adds)                                             \
  template <int kTurnedA, int kTurnedB>                                                                        \
  __device__ __forceinline__ void multiply(mma::Tf32, float (&d)[count], std::uint64_t a, std::uint64_t b,     \
                                           bool add) {                                                         \
    static_assert(kTurnedA == 0 && kTurnedB == 0, "TF32 is not turned");                                       \
    asm volatile(                                                                                              \
        "{\n"                                                                                                  \
        ".reg .pred add;\n"                                                                                    \
        "setp.ne.b32 add, %" #adds ", 0;\n"                                                                    \
        "wgmma.mma_async.sync.aligned." shape ".f32.tf32.tf32 "                                                \
        "{" WARPSCOPE_PLACES_##count "}, "                                                                     \
        "%" #first ", %" #second ", add, 1, 1;\n"                                                              \
        "}"                                                                                                    \
        : WARPSCOPE_SUMS_##count                                                                               \
        : "l"(a), "l"(b), "r"(static_cast<int>(add))                                                           \
        : "memory");                                                                                           \
  }
WARPSCOPE_MULTIPLY_TF32(64, "m64n128k8", 64, 65, 66)
WARPSCOPE_MULTIPLY_TF32(32, "m64n64k8", 32, 33, 34)

/// D += A B of an A in registers: that of a warp has the places of mma.cuh, 16 rows further than the warp before.
#define WARPSCOPE_MULTIPLY_REGISTERS(Math, type)                                                               \
  template <int kTurnedB>                                                                                      \
  __device__ __forceinline__ void multiply_registers(mma::Math, float (&d)[64], const unsigned (&a)[4],        \
                                                     std::uint64_t b) {                                        \
    asm volatile(                                                                                              \
        "{\n"                                                                                                  \
        ".reg .pred add;\n"                                                                                    \
        "setp.eq.u32 add, 0, 0;\n"                                                                             \
        "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " "                                       \
        "{" WARPSCOPE_PLACES_64 "}, "                                                                          \
        "{%64, %65, %66, %67}, %68, add, 1, 1, %69;\n"                                                         \
        "}"                                                                                                    \
        : WARPSCOPE_SUMS_64                                                                                    \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kTurnedB)                                    \
        : "memory");                                                                                           \
  }
WARPSCOPE_MULTIPLY_REGISTERS(Bf16, "bf16")
WARPSCOPE_MULTIPLY_REGISTERS(Fp16, "f16")
// clang-format on

#undef WARPSCOPE_PLACES_32
#undef WARPSCOPE_PLACES_64
#undef WARPSCOPE_PLACES_96
#undef WARPSCOPE_SUMS_8
#undef WARPSCOPE_SUMS_FROM
#undef WARPSCOPE_SUMS_32
#undef WARPSCOPE_SUMS_64
#undef WARPSCOPE_SUMS_96
#undef WARPSCOPE_MULTIPLY
#undef WARPSCOPE_MULTIPLY_TF32
#undef WARPSCOPE_MULTIPLY_REGISTERS

}  // namespace warpscope::ops::conv2d::fused::hopper
