// The ceiling of Hopper's tensor cores by wgmma, which is higher than that by mma.sync (peak_kernels.cu).
//
// A block a multiprocessor, two warpgroups of 64 x 256 sums each, as fast matrix products have them; the
// operands stay in shared memory, four tiles of 128 bytes of k each, so that nothing but products and their
// operands' way to the tensor cores takes power. The numbers are about normal with variance 1, as those of
// the bench are: the power that products take, and with it the clock, depends on them.
// Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

#include <cstdint>

#include "gpu/core/cuda.h"
#include "gpu/ops/conv2d/fused/hopper/hopper_ptx.cuh"
#include "gpu/ops/conv2d/fused/hopper/hopper_tiles.cuh"
#include "gpu/profiling/hopper_wide_products.cuh"
#include "gpu/profiling/peak_kernels.h"

namespace warpscope::profiling {
namespace {

namespace hopper = ops::conv2d::fused::hopper;
namespace mma = ops::mma;

constexpr int kGroups = 2;  // warpgroups
constexpr int kThreads = kGroups * static_cast<int>(hopper::kWarpgroup);
constexpr int kTiles = 4;            // of each operand
constexpr int kSteps = 4;            // products over a tile
constexpr unsigned kRowBytes = 128;  // of a tile
constexpr unsigned kStepBytes = kRowBytes / kSteps;
constexpr unsigned kRowsBytes = kWideRows * kRowBytes;
constexpr unsigned kColumnsBytes = kWideColumns * kRowBytes;
constexpr unsigned kOperandBytes = kTiles * (kGroups * kRowsBytes + kColumnsBytes);
constexpr unsigned kSharedBytes = kOperandBytes + hopper::kAlignSlack;

/// The same for the same place (the finalizer of MurmurHash3).
__device__ __forceinline__ unsigned scramble(unsigned place) {
  place = (place ^ place >> 16) * 0x85ebca6bu;
  place = (place ^ place >> 13) * 0xc2b2ae35u;
  return place ^ place >> 16;
}

/// About normal with mean 0 and variance 1: a sum of four uniform numbers.
__device__ __forceinline__ float random_number(unsigned place) {
  const unsigned first = scramble(2 * place);
  const unsigned second = scramble(2 * place + 1);
  const unsigned sum = (first & 0xffff) + (first >> 16) + (second & 0xffff) + (second >> 16);
  constexpr float kDeviation = 65536.0f * 0.57735027f;  // sqrt(4 / 12)
  return (static_cast<float>(sum) - 131070.0f) / kDeviation;
}

/// A word of operands: two numbers of 16 bits or one.
template <class Math>
__device__ __forceinline__ unsigned random_word(unsigned place) {
  if constexpr (sizeof(typename Math::Storage) == 4) {
    return mma::operand_word(Math{}, __float_as_uint(random_number(place)));
  } else {
    return mma::narrow_pair(Math{}, random_number(2 * place), random_number(2 * place + 1));
  }
}

template <class Math>
__global__ void __launch_bounds__(kThreads, 1) hopper_product_kernel(int iterations, float* sink) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  const mma::SharedAddress base = hopper::first_tile(shared);
  unsigned* words = reinterpret_cast<unsigned*>(shared + (base - mma::shared_address(shared)));
  for (unsigned i = threadIdx.x; i < kOperandBytes / sizeof(unsigned); i += kThreads) {
    words[i] = random_word<Math>(blockIdx.x * kOperandBytes + i);
  }
  hopper::publish_writes();
  __syncthreads();

  const unsigned group = threadIdx.x / hopper::kWarpgroup;
  const std::uint64_t a = hopper::describe(base + group * kTiles * kRowsBytes, 16);
  const std::uint64_t b = hopper::describe(base + kGroups * kTiles * kRowsBytes, 16);
  float sums[kWideSums] = {};
  for (int n = 0; n < iterations; ++n) {
    hopper::fence_products();
#pragma unroll
    for (unsigned tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (unsigned step = 0; step < kSteps; ++step) {
        multiply_wide(Math{}, sums, hopper::advanced(a, tile * kRowsBytes + step * kStepBytes),
                      hopper::advanced(b, tile * kColumnsBytes + step * kStepBytes));
      }
    }
    hopper::commit_products();
    hopper::wait_products<1>();  // the next iteration's are enqueued while these run
  }
  hopper::wait_products<0>();
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWideSums; ++i) sum += sums[i];
  // Only the host knows that this is hardly ever true.
  if (sum == 12345678.0f) *sink = sum;
#else
  __trap();  // this build has no code for sm_90a
#endif
}

template <class Math>
double launch_products(const PeakLaunch& launch) {
  const auto kernel = hopper_product_kernel<Math>;
  core::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
                   "the shared memory of the warpgroups' products that measure the peak");
  kernel<<<static_cast<unsigned>(launch.multiprocessors), kThreads, kSharedBytes, launch.stream>>>(
      launch.iterations, launch.sink);
  core::check_launch("the warpgroups' products that measure the peak");
  constexpr double kProductTerms = kStepBytes / sizeof(typename Math::Storage);
  return 2.0 * kWideRows * kWideColumns * kProductTerms * kSteps * kTiles * kGroups * launch.multiprocessors *
         launch.iterations;
}

}  // namespace

double launch_warpgroup_products(const PeakLaunch& launch, core::Precision precision) {
  switch (precision) {
    case core::Precision::fp16:
      return launch_products<mma::Fp16>(launch);
    case core::Precision::bf16:
      return launch_products<mma::Bf16>(launch);
    default:
      return launch_products<mma::Tf32>(launch);
  }
}

}  // namespace warpscope::profiling
