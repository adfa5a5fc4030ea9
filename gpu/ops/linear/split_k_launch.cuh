#pragma once
// Which tiles `split_k` has, and what its launches share on the host.

#include <cstdint>
#include <type_traits>

#include "gpu/ops/arrivals.h"
#include "gpu/ops/linear/split_k_block.cuh"
#include "gpu/ops/linear/split_k_scalar.cuh"
#include "gpu/ops/linear/split_k_tensor.cuh"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear::split_k {

/// Calls f with a pointer to the type of the tile of side `side`.
template <class F>
void with_scalar_tile(unsigned side, F f) {
  if (side == 16) return f(static_cast<ScalarTile<16, 2, 2, 5>*>(nullptr));
  if (side == 32) return f(static_cast<ScalarTile<32, 4, 4, 5>*>(nullptr));
  return f(static_cast<ScalarTile<64, 8, 4, 4>*>(nullptr));
}
template <class Arithmetic, class T, class F>
void with_tensor_tile(unsigned side, F f) {
  if (side == 16) return f(static_cast<TensorTile<Arithmetic, T, 16, 1, 1, 4, 5>*>(nullptr));
  if (side == 32) return f(static_cast<TensorTile<Arithmetic, T, 32, 2, 2, 2, 5>*>(nullptr));
  return f(static_cast<TensorTile<Arithmetic, T, 64, 2, 2, 2, 4>*>(nullptr));
}
template <class F>
void with_tile(core::Precision precision, unsigned side, F f) {
  switch (precision) {
    case core::Precision::tf32:
      return with_tensor_tile<mma::Tf32, float>(side, f);
    case core::Precision::fp16:
      return with_tensor_tile<mma::Fp16, __half>(side, f);
    case core::Precision::bf16:
      return with_tensor_tile<mma::Bf16, __nv_bfloat16>(side, f);
    default:
      return with_scalar_tile(side, f);
  }
}

/// `row`: elements of a row in memory.
template <class T>
Factor<T> factor(const T* data, unsigned lines, unsigned row) {
  for (const unsigned bytes : {16u, 4u}) {
    const bool rows_begin_aligned = std::uint64_t{row} * sizeof(T) % bytes == 0;
    if (rows_begin_aligned && reinterpret_cast<std::uintptr_t>(data) % bytes == 0)
      return {data, lines, bytes};
  }
  return {data, lines, static_cast<unsigned>(sizeof(T))};
}
template <class T>
Factor<T> depth_first(const T* data, unsigned lines, unsigned depth) {
  return factor(data, lines, depth);
}
template <class T>
Factor<T> line_first(const T* data, unsigned lines) {
  return factor(data, lines, lines);
}

/// `from`: the parts and arrivals of the call that are not taken yet; takes this job's.
struct Shared {
  float* parts;
  unsigned* arrived;
};

template <class T, class Finish>
Job<T, Finish> job(const Product& product, const Cut& cut, const Factor<T>& a, const Factor<T>& b,
                   typename Finish::Out* c, const Finish& finish, Shared& from) {
  constexpr std::size_t kFour = 4 * sizeof(typename Finish::Out);
  const bool wide = product.columns % 4 == 0 && reinterpret_cast<std::uintptr_t>(c) % kFour == 0;
  const Job<T, Finish> made{cut, product.depth, a, b, c, wide, finish, from.parts, from.arrived};
  from.parts += parts_bytes(cut) / sizeof(float);
  from.arrived += cut.tiles;
  return made;
}

inline Shared shared_of(const OpCall& call) {
  return {static_cast<float*>(call.workspace), static_cast<Arrivals&>(*call.prepared).counts()};
}

}  // namespace warpscope::ops::linear::split_k
