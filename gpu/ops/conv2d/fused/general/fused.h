#pragma once
// What the files of the variant `fused` call of each other. All launches go to `stream` and check
// themselves.

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
  std::uint8_t*
      argmax;  ///< only if the window is pooled, with filters in fours: then `out` are the windows' largest
  cudaStream_t stream;
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
  cudaStream_t stream;
};

void weights_simt(const Weights& call);
void weights_mma(const Weights& call, core::Precision precision);

/// WeightsWay::pooled. `window` is that of forward, pooled; `gradient` the pooled one.
void pooled_weights_mma(const Weights& call, const std::uint8_t* argmax, core::Precision precision);

/// Adds the parts, after upsampling also the gradients of the sums that each tap of dw is in, in a fixed
/// order. `direct` if a part has the order of dw, for WeightsWay::pooled.
void fold_weights(const WeightsPlan& plan, const ChainShape& shape, bool direct, const float* partial,
                  float* dw, cudaStream_t stream);

/// Weights as Activations want them: for forward of upsampled layers the sums of each parity, if `joint` with
/// zeros at the taps that it does not have; for backward_input the kernels turned round, summed for upsampled
/// blocks, with input channels as filters.
void arrange_forward(const ChainShape& shape, core::Precision precision, bool joint, const void* w,
                     void* arranged, cudaStream_t stream);
void arrange_backward(const ChainShape& shape, core::Precision precision, const void* w, void* arranged,
                      cudaStream_t stream);

/// An image of (batch, height, width, channels).
struct Image {
  std::int64_t batch;
  unsigned height;
  unsigned width;
  unsigned channels;
};

/// Largest of each window, with its two bits.
void pool(const Image& image, core::Precision precision, const void* r, void* y, std::uint8_t* argmax,
          cudaStream_t stream);
/// The gradient before pooling, all of it: zeros where the window's largest is another.
void unpool(const Image& image, core::Precision precision, const void* dy, const std::uint8_t* argmax,
            void* dz, cudaStream_t stream);

}  // namespace warpscope::ops::conv2d::fused::general
