#pragma once
// What the files of the block variant `fused` call of each other. All launches go to `stream` and check themselves.

#include <cstdint>

#include <cuda_runtime.h>

#include "gpu/ops/block/fused_plan.h"
#include "gpu/ops/block/fused_window.cuh"
#include "gpu/ops/op.h"

namespace warpscope::ops::block::fused {

/// A convolution through a window, and what is done to its result before it is written.
struct Activations {
  Window window;
  int filters;          ///< channels of the result
  const void* in;
  const void* weights;  ///< (parities, filters, taps, channels of in)
  const void* bias;     ///< of each filter; none if nullptr
  bool relu;
  const void* mask;  ///< elements like the result: it is zero where these are not above zero; none if nullptr
  void* out;
  std::uint8_t* argmax;  ///< only if the window is pooled, with filters in fours: then `out` are the windows' largest
  cudaStream_t stream;
};

/// On the ordinary cores.
void activations_simt(const Activations& call);
/// On tensor cores: precision is tf32, fp16 or bf16. At most 15x15 taps.
void activations_mma(const Activations& call, core::Precision precision);

struct Weights {
  WeightsPlan plan;
  Window window;  ///< backward_window()
  const void* input;
  const void* gradient;
  float* partial;
  cudaStream_t stream;
};

void weights_simt(const Weights& call);
void weights_mma(const Weights& call, core::Precision precision);

/// Adds the parts, and the tap sums' gradients for each tap of dw, in a fixed order.
void fold_weights(const WeightsPlan& plan, const OpShape& shape, const float* partial, float* dw, cudaStream_t stream);

/// Weights as Activations want them: for forward of upsampled blocks the sums of each parity, for backward_input the
/// kernels turned round, summed for upsampled blocks, with input channels as filters.
void arrange_forward(const OpShape& shape, core::Precision precision, const void* w, void* arranged, cudaStream_t stream);
void arrange_backward(const OpShape& shape, core::Precision precision, const void* w, void* arranged,
                      cudaStream_t stream);

/// An image of (batch, height, width, channels).
struct Image {
  std::int64_t batch;
  int height;
  int width;
  int channels;
};

/// Largest of each window, with its two bits.
void pool(const Image& image, core::Precision precision, const void* r, void* y, std::uint8_t* argmax,
          cudaStream_t stream);
/// The gradient before pooling, all of it: zeros where the window's largest is another.
void unpool(const Image& image, core::Precision precision, const void* dy, const std::uint8_t* argmax, void* dz,
            cudaStream_t stream);

}  // namespace warpscope::ops::block::fused
