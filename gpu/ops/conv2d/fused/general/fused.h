#pragma once
// What the files of the variant `fused` call of each other.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/general/fused_plan.h"
#include "gpu/ops/conv2d/fused/general/fused_window.cuh"

namespace warpscope::ops::conv2d::fused::general {

/// A convolution through a window, and what is done to its result before it is written.
struct Activations {
  Window window;
  int filters;  ///< columns of the result: its channels, four times as many if the window is joint
  const void* in;
  const void* weights;  ///< (parities, filters, taps, channels of in)
  const void* bias;     ///< of each filter; none if nullptr
  bool relu;
  const void* mask;  ///< elements like the result: it is zero where these are not above zero; none if nullptr
  void* out;
  /// Only if the window is pooled, with filters in fours: then `out` are the windows' largest.
  std::uint8_t* argmax;
  const Variant* variant;
  core::Stream* stream;
};

/// On the CUDA cores.
void activations_simt(const Activations& call);
/// On tensor cores: precision is tf32, fp16 or bf16. At most 15x15 taps.
void activations_mma(const Activations& call, core::Precision precision);

struct Weights {
  WeightsPlan plan;
  Window window;  ///< backward_window(), but for WeightsWay::pooled
  const void* input;
  const void* gradient;
  float* partial;
  const Variant* variant;
  core::Stream* stream;
};

void weights_simt(const Weights& call);
void weights_mma(const Weights& call, core::Precision precision);

/// WeightsWay::pooled. `window` is that of forward, pooled; `gradient` the pooled one.
void pooled_weights_mma(const Weights& call, const std::uint8_t* argmax, core::Precision precision);

/// Adds the parts, after upsampling also the gradients of the sums that each tap of dw is in, in a fixed
/// order. `direct` if a part has the order of dw, for WeightsWay::pooled.
void fold_weights(const ChainCall& call, const WeightsPlan& plan, bool direct, const float* partial);

/// Weights as Activations want them: for forward of upsampled layers the sums of each parity, if `joint` with
/// zeros at the taps that it does not have; for backward_input the kernels turned round, summed for upsampled
/// blocks, with input channels as filters.
void arrange_forward(const ChainCall& call, bool joint, void* arranged);
void arrange_backward(const ChainCall& call, void* arranged);

/// An image of (batch, height, width, channels).
struct Image {
  std::int64_t batch;
  unsigned height;
  unsigned width;
  unsigned channels;
};

/// Output and argmax of the call: the largest of each window of `r`, with its two bits.
void pool(const ChainCall& call, const Image& image, const void* r);
/// The gradient before pooling, all of it: zeros where the window's largest is another.
void unpool(const ChainCall& call, const Image& image, void* dz);

}  // namespace warpscope::ops::conv2d::fused::general
