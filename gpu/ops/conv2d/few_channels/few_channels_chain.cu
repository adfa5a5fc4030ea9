#include "gpu/ops/conv2d/few_channels/few_channels.h"
#include "gpu/ops/conv2d/few_channels/few_channels_chain.h"
#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/general.h"
#include "gpu/ops/sizes.h"

namespace warpscope::ops::conv2d::few_channels {

using fused::general::convolution_of;

namespace {

constexpr std::size_t kElementBytes = 2;
constexpr std::size_t kPartAlignment = 256;

fused::general::Image unpooled_of(const fused::ChainShape& s) {
  return {s.batch, static_cast<unsigned>(s.height), static_cast<unsigned>(s.width),
          static_cast<unsigned>(s.out_channels)};
}

/// Bytes of the convolution's result, or of its gradient, where pooling makes another tensor of it.
std::size_t unpooled_bytes(const fused::ChainShape& s) {
  if (!s.pool) return 0;
  const std::size_t bytes = static_cast<std::size_t>(sizes::output(convolution_of(s))) * kElementBytes;
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

bool has_windows(const fused::ChainShape& s) {
  return !s.pool || (s.height > 1 && s.width > 1);
}

}  // namespace

namespace chain_forward {

bool takes(const fused::ChainShape& s) {
  return !s.upsample && has_windows(s) && refuses_forward(convolution_of(s)).empty();
}

std::size_t workspace(const fused::ChainShape& s, core::Precision) {
  return unpooled_bytes(s);
}

void launch(const fused::ChainCall& call) {
  const fused::ChainShape& s = call.shape;
  void* const result = s.pool ? call.workspace : call.operand<void>(Name::output);
  forward({call.variant, call.stream, call.precision}, convolution_of(s),
          {.input = call.operand<const void>(Name::input),
           .weights = call.operand<const void>(Name::weights),
           .bias = call.operand<const void>(Name::bias),
           .kept = nullptr,
           .output = result,
           .relu = s.relu,
           .after = Activation::none});
  if (s.pool) fused::general::pool(call, unpooled_of(s), result);
}

}  // namespace chain_forward

namespace chain_backward_weights {

bool takes(const fused::ChainShape& s) {
  return !s.upsample && has_windows(s) && refuses_backward_weights(convolution_of(s)).empty();
}

std::size_t workspace(const fused::ChainShape& s, core::Precision) {
  return unpooled_bytes(s) + backward_weights_workspace(convolution_of(s));
}

void launch(const fused::ChainCall& call) {
  const fused::ChainShape& s = call.shape;
  const void* gradient = call.operand<const void>(Name::output_gradient);
  if (s.pool) {
    fused::general::unpool(call, unpooled_of(s), call.workspace);
    gradient = call.workspace;
  }
  auto* const partial = static_cast<std::byte*>(call.workspace) + unpooled_bytes(s);
  backward_weights({call.variant, call.stream, call.precision}, convolution_of(s),
                   {.input = call.operand<const void>(Name::input),
                    .output_gradient = gradient,
                    .weights_gradient = call.operand<float>(Name::weights_gradient),
                    .bias_gradient = s.bias ? call.operand<float>(Name::bias_gradient) : nullptr,
                    .partial = reinterpret_cast<float*>(partial)});
}

}  // namespace chain_backward_weights
}  // namespace warpscope::ops::conv2d::few_channels
