#pragma once
// From a layer's output to columns of a feature matrix.

#include <cstdint>

#include "gpu/core/device.h"
#include "gpu/core/types.h"

namespace warpscope::features {

/// With wh = height / out_height, ww = width / out_width and P the mean or the maximum over a window (NaN stays NaN),
///
///   rows[(first_row + n) row_columns + first_column + (c out_height + y) out_width + x]
///       = P { values[n, y wh + i, x ww + j, c] : 0 <= i < wh, 0 <= j < ww }
///
/// for 0 <= n < count: columns are in PyTorch's order, (C, H, W). values: (batch, H, W, C) in f32, f16 or bf16; rows:
/// FP32. Both in device memory.
struct CollectCall {
  const void* values = nullptr;
  core::ElementType type = core::ElementType::f32;
  int count = 0;
  int height = 0;
  int width = 0;
  int channels = 0;
  int out_height = 0;
  int out_width = 0;
  bool maximum = false;
  float* rows = nullptr;
  std::int64_t first_row = 0;
  std::int64_t row_columns = 0;
  std::int64_t first_column = 0;
};

/// Enqueues it on a CUDA stream, as one launch. On the CPU it waits for the stream and is done at once, in the calling
/// thread and helpers.
void collect(const core::Device& device, core::Stream& stream, const CollectCall& call);

// ---- on CUDA ----

void collect_cuda(core::Stream& stream, const CollectCall& call);

}  // namespace warpscope::features
