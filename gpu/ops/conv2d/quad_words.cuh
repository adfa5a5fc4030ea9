#pragma once
// What the four lanes that share a row of a product's result do with its words.

#include <cuda_runtime.h>

namespace warpscope::ops::conv2d {

/// Words of four lanes, neighbours, as a matrix, transposed: lane m gets word m of each.
__device__ __forceinline__ void transpose(unsigned (&w)[4], int member) {
  const bool odd = (member & 1) != 0;
  const bool high = (member & 2) != 0;
  const unsigned near0 = __shfl_xor_sync(0xffffffffu, odd ? w[0] : w[1], 1);
  const unsigned near1 = __shfl_xor_sync(0xffffffffu, odd ? w[2] : w[3], 1);
  const unsigned b0 = odd ? near0 : w[0];
  const unsigned b1 = odd ? w[1] : near0;
  const unsigned b2 = odd ? near1 : w[2];
  const unsigned b3 = odd ? w[3] : near1;
  const unsigned far0 = __shfl_xor_sync(0xffffffffu, high ? b0 : b2, 2);
  const unsigned far1 = __shfl_xor_sync(0xffffffffu, high ? b1 : b3, 2);
  w[0] = high ? far0 : b0;
  w[1] = high ? far1 : b1;
  w[2] = high ? b2 : far0;
  w[3] = high ? b3 : far1;
}

}  // namespace warpscope::ops::conv2d
