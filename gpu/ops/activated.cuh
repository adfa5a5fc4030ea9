#pragma once
// An activation of results that are rounded already, or its derivative, on their way from shared memory to the tensor:
// forward writes what the activation reads, and works from that, so that it and the backward pass see the same numbers.
// Source: NVIDIA, "CUTLASS documentation", "Efficient GEMM in CUDA", section "Epilogue".

#include <cuda_runtime.h>

#include "gpu/ops/activation.h"
#include "gpu/ops/mma.cuh"

namespace warpscope::ops {

/// Two elements of 16 bits or one of 32 after change(value, the number beside it).
template <class Out, class Change>
__device__ __forceinline__ unsigned changed_word(unsigned word, unsigned beside, Change change) {
  using Storage = typename Out::Storage;
  if constexpr (sizeof(Storage) == 2) {
    const auto low = [](unsigned w) { return mma::widen(Out{}, static_cast<Storage>(w & 0xffffu)); };
    const auto high = [](unsigned w) { return mma::widen(Out{}, static_cast<Storage>(w >> 16)); };
    return mma::narrow_pair(Out{}, change(low(word), low(beside)), change(high(word), high(beside)));
  } else {
    return __float_as_uint(change(__uint_as_float(word), __uint_as_float(beside)));
  }
}

/// changed_word() of all of 16 or 8 bytes.
template <class Out, class Change>
__device__ __forceinline__ uint4 changed_words(uint4 words, uint4 beside, Change change) {
  return {changed_word<Out>(words.x, beside.x, change), changed_word<Out>(words.y, beside.y, change),
          changed_word<Out>(words.z, beside.z, change), changed_word<Out>(words.w, beside.w, change)};
}
template <class Out, class Change>
__device__ __forceinline__ uint2 changed_words(uint2 words, uint2 beside, Change change) {
  return {changed_word<Out>(words.x, beside.x, change), changed_word<Out>(words.y, beside.y, change)};
}

/// `beside` and `kept` have as many elements as the result.
template <class Out>
struct Activated {
  using Storage = typename Out::Storage;
  Activation kind = Activation::none;  ///< forward: of those that read only their input
  Storage* kept = nullptr;  ///< forward: takes what the activation reads, where somebody else reads it
  const Storage* beside = nullptr;  ///< backward: what the derivative reads

  /// Calls f with the change of each element; of no activation nothing happens.
  template <class F>
  __device__ __forceinline__ void with_change(F f) const {
    if (beside == nullptr) {
      with_kept_activation(kind, [&]<class A>(A) { f([](float z, float) { return A::value(z); }); });
    } else {
      with_activation(kind, [&]<class A>(A) { f([](float dy, float x) { return A::gradient(dy, x); }); });
    }
  }

  /// Writes 16 or 8 bytes of the result from `element` on.
  template <class Words, class Change>
  __device__ __forceinline__ void write(Storage* out, unsigned element, Words words, Change change) const {
    Words other{};
    if (beside != nullptr) {
      other = *reinterpret_cast<const Words*>(beside + element);
    } else if (kept != nullptr) {
      *reinterpret_cast<Words*>(kept + element) = words;
    }
    *reinterpret_cast<Words*>(out + element) = changed_words<Out>(words, other, change);
  }
};

}  // namespace warpscope::ops
