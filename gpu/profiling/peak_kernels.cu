// The ceilings of a GPU.
//
// Multiply-adds and matrix products: independent accumulators in registers, enough of them in flight to hide
// the latency of the unit; nothing goes through memory. Matrix products use mma.sync, which every GPU from
// compute capability 8.0 has; Hopper's own wgmma reaches more (hopper_peak_kernels.cu).
// Source: PTX ISA, "Warp-level matrix instructions" (mma.m16n8k16, mma.m16n8k8).

#include <cstdint>

#include "gpu/core/cuda.h"
#include "gpu/profiling/peak_kernels.h"

namespace warpscope::profiling {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kChains = 16;  // independent multiply-adds a thread
constexpr int kTiles = 8;    // independent matrix products a warp

__global__ void __launch_bounds__(kThreads)
    multiply_add_kernel(int iterations, float factor, float addend, float* sink) {
  float value[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) value[i] = static_cast<float>(threadIdx.x + i);
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int repeat = 0; repeat < 4; ++repeat) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) value[i] = fmaf(value[i], factor, addend);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += value[i];
  // The factor is below one, so the sum stays finite: this is never true, but only the host knows.
  if (sum == 12345678.0f) *sink = sum;
}

enum class Kind { tf32, fp16, bf16 };

/// FLOPs of one instruction of a warp: 16 x 8 x K multiply-adds.
template <Kind kKind>
constexpr double kProductFlops = 2.0 * 16 * 8 * (kKind == Kind::tf32 ? 8 : 16);

template <Kind kKind>
__device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (kKind == Kind::tf32) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else if constexpr (kKind == Kind::fp16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  d[0] += static_cast<float>(a[0] ^ b[0]);  // never launched there
#endif
}

/// `bits` are those of small numbers, different in each lane: products of zeros would draw less power than
/// real ones.
template <Kind kKind>
__global__ void __launch_bounds__(kThreads)
    matrix_product_kernel(int iterations, std::uint32_t bits, float* sink) {
  float sums[kTiles][4] = {};
  std::uint32_t a[4];
  std::uint32_t b[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = bits ^ ((threadIdx.x * 37u + i) & 63u);
#pragma unroll
  for (int i = 0; i < 2; ++i) b[i] = bits ^ ((threadIdx.x * 53u + i) & 63u);
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) multiply<kKind>(sums[tile], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile)
    sum += sums[tile][0] + sums[tile][1] + sums[tile][2] + sums[tile][3];
  if (sum == 12345678.0f) *sink = sum;
}

__global__ void __launch_bounds__(kThreads)
    copy_kernel(uint4* __restrict__ destination, const uint4* __restrict__ source, std::size_t count) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const uint4 first = source[i];
    const uint4 second = source[i + stride];
    const uint4 third = source[i + 2 * stride];
    const uint4 fourth = source[i + 3 * stride];
    destination[i] = first;
    destination[i + stride] = second;
    destination[i + 2 * stride] = third;
    destination[i + 3 * stride] = fourth;
  }
  for (; i < count; i += stride) destination[i] = source[i];
}

template <Kind kKind>
double launch_products(const PeakLaunch& launch, std::uint32_t bits) {
  const int blocks = 4 * launch.multiprocessors;
  matrix_product_kernel<kKind>
      <<<static_cast<unsigned>(blocks), kThreads, 0, launch.stream>>>(launch.iterations, bits, launch.sink);
  core::check_launch("the matrix products that measure the peak");
  return kProductFlops<kKind> * kTiles * kWarps * blocks * launch.iterations;
}

}  // namespace

double launch_fused_multiply_adds(const PeakLaunch& launch) {
  const int blocks = 8 * launch.multiprocessors;
  multiply_add_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, launch.stream>>>(
      launch.iterations, 0.999f, 0.001f, launch.sink);
  core::check_launch("the multiply-adds that measure the peak");
  return 2.0 * 4 * kChains * kThreads * blocks * launch.iterations;
}

double launch_matrix_products(const PeakLaunch& launch, core::Precision precision) {
  // Numbers of about 2^-6, so that no sum overflows.
  switch (precision) {
    case core::Precision::fp16:
      return launch_products<Kind::fp16>(launch, 0x24002400u);
    case core::Precision::bf16:
      return launch_products<Kind::bf16>(launch, 0x3c803c80u);
    default:
      return launch_products<Kind::tf32>(launch, 0x3c800000u);
  }
}

void launch_copy(cudaStream_t stream, int multiprocessors, void* destination, const void* source,
                 std::size_t bytes) {
  copy_kernel<<<static_cast<unsigned>(16 * multiprocessors), kThreads, 0, stream>>>(
      static_cast<uint4*>(destination), static_cast<const uint4*>(source), bytes / sizeof(uint4));
  core::check_launch("the copy that measures the bandwidth");
}

}  // namespace warpscope::profiling
