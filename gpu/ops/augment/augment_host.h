#pragma once
// batch.augment on the host, image by image.

#include <cstdint>

#include "gpu/ops/augment/draw.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::augment {

/// Calls store(i, value) for each element i of the batch, computed in Real.
template <class Real, class Store>
void augment_on_host(const OpCall& call, Store store) {
  const OpShape& s = call.shape;
  const Extents extents = extents_of(s);
  const auto& control = *call.operand<const step::StepControl>(Name::control);
  const auto* images = call.operand<const std::uint8_t>(Name::images);
  const auto* order = call.operand<const std::uint32_t>(Name::order);
  const std::int64_t image_size = std::int64_t{s.height} * s.width * s.in_channels;
  const std::uint64_t key = dropout::key_of(control, kSalt);
  const Shares<Real> shares = shares_of<Real>(control);
  const bool mixes = control.mixup > 0.0f;
  const auto bytes_of = [&](std::int64_t n) {
    return images + order[(control.position + n) % s.count] * image_size;
  };
  std::int64_t i = 0;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::int64_t other = partner_of(n, s.batch);
    const auto draw = draw_image<Real>(control, key, static_cast<std::uint64_t>(n), extents);
    const auto next = draw_image<Real>(control, key, static_cast<std::uint64_t>(other), extents);
    const std::uint8_t* const own_bytes = bytes_of(n);
    const std::uint8_t* const next_bytes = bytes_of(other);
    for (int h = 0; h < s.height; ++h) {
      for (int w = 0; w < s.width; ++w) {
        for (int c = 0; c < s.in_channels; ++c, ++i) {
          Real value = element_of(draw, own_bytes, extents, h, w, c);
          if (mixes) {
            value = shares.own * value + shares.next * element_of(next, next_bytes, extents, h, w, c);
          }
          store(i, value);
        }
      }
    }
  }
}

}  // namespace warpscope::ops::augment
