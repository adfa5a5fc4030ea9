#pragma once
// One instruction that the language has only with a second one beside it.
// Source: NVIDIA, "Parallel Thread Execution ISA", "prmt".

#include <cuda_runtime.h>

namespace warpscope::ops::conv2d::fused::narrow {

/// Four bytes chosen by the low 16 bits of `selectors`, four bits each: 0 to 3 are the bytes of `word`, 4 to
/// 7 are zeros. Unlike __byte_perm it does not clear the fourth bit of each, which must be clear.
__device__ __forceinline__ unsigned permute(unsigned word, unsigned selectors) {
  unsigned chosen;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(chosen) : "r"(word), "r"(selectors));
  return chosen;
}

}  // namespace warpscope::ops::conv2d::fused::narrow
