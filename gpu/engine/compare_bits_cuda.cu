// Comparing bits on CUDA: a grid-stride loop; each block reduces through warps and adds once to the result.
// Counts are integers and largest values are compared as the bits of numbers that are not negative, so
// atomics keep the result the same.

#include <stdexcept>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "gpu/core/cuda.h"
#include "gpu/engine/compare_bits.h"
#include "gpu/ops/elementwise.cuh"

namespace warpscope::training {
namespace {

__device__ float value_of(std::uint32_t bits, float) {
  return __uint_as_float(bits);
}
__device__ float value_of(std::uint16_t bits, __half) {
  return __half2float(__ushort_as_half(bits));
}
__device__ float value_of(std::uint16_t bits, __nv_bfloat16) {
  return __bfloat162float(__ushort_as_bfloat16(bits));
}

__device__ unsigned largest_bits(float value) {
  return value == value ? __float_as_uint(fabsf(value)) : 0u;
}

template <class Bits, class Value>
__global__ void compare(std::int64_t elements, const Bits* __restrict__ a, const Bits* __restrict__ b,
                        BitDifferences* result) {
  unsigned different = 0;
  unsigned largest = 0;
  unsigned largest_value = 0;
  const auto first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < elements; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const float left = value_of(a[i], Value{});
    largest_value = max(largest_value, largest_bits(left));
    if (a[i] == b[i]) continue;
    ++different;
    largest = max(largest, largest_bits(left - value_of(b[i], Value{})));
  }
  for (int apart = 16; apart > 0; apart /= 2) {
    different += __shfl_xor_sync(0xffffffffu, different, apart);
    largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, apart));
    largest_value = max(largest_value, __shfl_xor_sync(0xffffffffu, largest_value, apart));
  }
  if (threadIdx.x % 32 != 0) return;
  if (different > 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&result->different), different);
    atomicMax(reinterpret_cast<unsigned*>(&result->largest), largest);
  }
  atomicMax(reinterpret_cast<unsigned*>(&result->largest_value), largest_value);
}

template <class Bits, class Value>
void launch(cudaStream_t stream, std::int64_t elements, const void* a, const void* b,
            BitDifferences* result) {
  const auto blocks = ops::element_blocks(elements / 8 + 1);
  compare<Bits, Value><<<blocks, ops::kElementThreads, 0, stream>>>(elements, static_cast<const Bits*>(a),
                                                                    static_cast<const Bits*>(b), result);
}

}  // namespace

void compare_bits_cuda(core::Stream& stream, core::ElementType type, std::int64_t elements, const void* a,
                       const void* b, BitDifferences* result) {
  const cudaStream_t native = core::cuda_stream(stream);
  switch (type) {
    case core::ElementType::f32:
      launch<std::uint32_t, float>(native, elements, a, b, result);
      break;
    case core::ElementType::f16:
      launch<std::uint16_t, __half>(native, elements, a, b, result);
      break;
    case core::ElementType::bf16:
      launch<std::uint16_t, __nv_bfloat16>(native, elements, a, b, result);
      break;
    default:
      throw std::logic_error("compare_bits takes f32, f16 and bf16");
  }
  core::check_launch("compare_bits");
}

}  // namespace warpscope::training
