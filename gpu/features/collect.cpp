#include "gpu/features/collect.h"

#include <cmath>
#include <stdexcept>

#include "gpu/core/parallel.h"
#include "gpu/ops/bfloat16.h"

namespace warpscope::features {
namespace {

using core::ElementType;

float widen(const CollectCall& call, std::int64_t i) {
  if (call.type == ElementType::f32) return static_cast<const float*>(call.values)[i];
  return ops::to_float(static_cast<const ops::BFloat16*>(call.values)[i]);
}

float pooled(const CollectCall& call, std::int64_t image, int y, int x, int channel) {
  const int tall = call.height / call.out_height, wide = call.width / call.out_width;
  float sum = 0;
  float most = -HUGE_VALF;
  for (int i = 0; i < tall; ++i) {
    for (int j = 0; j < wide; ++j) {
      const std::int64_t place =
          ((image * call.height + y * tall + i) * call.width + x * wide + j) * call.channels + channel;
      const float value = widen(call, place);
      sum += value;
      if (!(value <= most)) most = value;  // NaN too, and it stays
      if (std::isnan(value)) return value;
    }
  }
  return call.maximum ? most : sum / static_cast<float>(tall * wide);
}

void collect_image(const CollectCall& call, std::int64_t image) {
  float* out = call.rows + (call.first_row + image) * call.row_columns + call.first_column;
  for (int channel = 0; channel < call.channels; ++channel) {
    for (int y = 0; y < call.out_height; ++y) {
      for (int x = 0; x < call.out_width; ++x) *out++ = pooled(call, image, y, x, channel);
    }
  }
}

}  // namespace

void collect(const core::Device& device, core::Stream& stream, const CollectCall& call) {
  if constexpr (core::kHaveCuda) {
    if (device.kind() == core::DeviceKind::cuda) return collect_cuda(stream, call);
  }
  if (call.type != ElementType::f32 && call.type != ElementType::bf16) {
    throw std::logic_error("collect takes f32 and bf16 on the CPU");
  }
  stream.synchronize();
  core::parallel_for(call.count, 1, 0, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t image = begin; image < end; ++image) collect_image(call, image);
  });
}

}  // namespace warpscope::features
