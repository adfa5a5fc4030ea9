#pragma once
// Activations that products apply to their sums before they write them, and their derivatives. A kind is a functor: its
// value z -> y, and its gradient, from that of y and from one number beside it: y where the derivative follows from
// that, as ReLU's, else z, which forward then writes too, rounded, and works from (kReadsInput). A new kind is an
// enumerator, a functor and a row; kernels reach it by the switches here, which stand where a result is written.

#include <array>
#include <cstdint>

#include "gpu/core/both.h"
#include "gpu/ops/gelu/gelu_formula.h"
#include "gpu/ops/op.h"

namespace warpscope::ops {

enum class Activation : std::uint8_t { none, relu, gelu };

namespace activations {

struct Relu {
  static constexpr bool kReadsInput = false;
  /// Not max(z, 0): a NaN compares false and passes through.
  static WARPSCOPE_BOTH float value(float z) { return z < 0.0f ? 0.0f : z; }
  static WARPSCOPE_BOTH float gradient(float dy, float y) { return y > 0.0f ? dy : 0.0f; }
};

struct Gelu {
  static constexpr bool kReadsInput = true;
  static WARPSCOPE_BOTH float value(float z) { return gelu::value(z); }
  static WARPSCOPE_BOTH float gradient(float dy, float z) { return dy * gelu::slope(z); }
};

}  // namespace activations

#ifdef __CUDACC__
/// Calls f with the functor of `kind`; of `none` nothing happens.
template <class F>
__device__ __forceinline__ void with_activation(Activation kind, F f) {
  if (kind == Activation::relu) f(activations::Relu{});
  if (kind == Activation::gelu) f(activations::Gelu{});
}

/// The same, only of those whose derivative reads their input.
template <class F>
__device__ __forceinline__ void with_kept_activation(Activation kind, F f) {
  with_activation(kind, [&]<class A>(A) {
    if constexpr (A::kReadsInput) f(A{});
  });
}
#endif

/// The ops that a call covers as an activation.
struct ActivationOps {
  Activation kind;
  Op forward;
  Op backward;
  bool reads_input;  ///< the derivative
};
inline constexpr std::array kActivationOps{
    ActivationOps{Activation::relu, Op::relu_forward, Op::relu_backward, activations::Relu::kReadsInput},
    ActivationOps{Activation::gelu, Op::gelu_forward, Op::gelu_backward, activations::Gelu::kReadsInput}};

/// Whether the derivative reads the activation's input.
constexpr bool reads_input(Activation kind) {
  for (const ActivationOps& each : kActivationOps) {
    if (each.kind == kind) return each.reads_input;
  }
  return false;
}

/// What a call applies to its result: the activation itself.
inline Activation activation_of(const OpSet& covered) {
  for (const ActivationOps& each : kActivationOps) {
    if (covered.has(each.forward)) return each.kind;
  }
  return Activation::none;
}

/// The same of a gradient's call: the derivative of the activation before it.
inline Activation derivative_of(const OpSet& covered) {
  for (const ActivationOps& each : kActivationOps) {
    if (covered.has(each.backward)) return each.kind;
  }
  return Activation::none;
}

}  // namespace warpscope::ops
