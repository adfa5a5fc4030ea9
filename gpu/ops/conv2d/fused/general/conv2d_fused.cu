// conv2d, variant `fused`: one product a pass with everything around it. Over the layers one by one it adds
// that an upsampled image is never made and its convolution costs 2.25 times fewer products (3x3 kernels),
// that bias, ReLU and pooling are done to the sums before they are written, and that the mask of
// backward_input is too. FP32 runs on the CUDA cores (fused_simt.cu), TF32 and 16 bits on tensor
// cores (fused_mma*.cu).
//
// Pooling is a pass of its own after upsampling or if the filters do not come in fours. The gradient before
// pooling is made in the workspace, but for the weights gradient of a first layer on tensor cores. Without
// upsampling the weights gradient is conv2d's `implicit_gemm` or `mma` where channels are few or do not fill
// 16 bytes, and in FP32. For so few filters that all parities fit in the columns of one tile (up to four)
// tensor cores make them together.
// Limits: tensors of at most 2e9 elements; kernels of at most 15x15, 13x13 after upsampling.
// Source: chain.h.

#include <algorithm>
#include <cstddef>
#include <string>

#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/conv2d/fused/chain.h"
#include "gpu/ops/conv2d/fused/general/fused.h"
#include "gpu/ops/conv2d/fused/general/general.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {

// conv2d_warp_shuffle.cu, conv2d_implicit_gemm_backward_weights.cu, conv2d_mma_backward_weights.cu
Variant warp_shuffle_backward_bias(), implicit_gemm_backward_weights(), mma_backward_weights();

namespace fused::general {
namespace {

using core::Precision;

constexpr int kMostKernel = 15;
constexpr std::size_t kAlignment = 256;

/// The parts of a call's workspace, in order; each from a multiple of kAlignment on.
struct Parts {
  std::byte* workspace;  ///< nullptr to count only
  std::size_t used = 0;

  void* take(std::int64_t bytes) {
    void* part = workspace == nullptr ? nullptr : workspace + used;
    used += (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
    return part;
  }
};

std::int64_t element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

/// The result of the convolution, before pooling.
Image result_of(const ChainShape& s) {
  const unsigned scale = s.upsample ? 2 : 1;
  return {s.batch, scale * static_cast<unsigned>(s.height), scale * static_cast<unsigned>(s.width),
          static_cast<unsigned>(s.out_channels)};
}

std::int64_t elements(const Image& image) {
  return image.batch * image.height * image.width * image.channels;
}

/// Whether the convolution's kernel pools too.
bool pools_in_kernel(const ChainShape& s) {
  return s.pool && !s.upsample && s.out_channels % 4 == 0;
}

std::int64_t weights_of(const ChainShape& s, int height, int width) {
  return std::int64_t{height} * width * s.in_channels * s.out_channels;
}

/// Whether an upsampled layers's parities are made together: on tensor cores, whose tiles have 16 columns at
/// least.
bool joins_parities(const ChainShape& s, Precision precision) {
  return s.upsample && precision != Precision::fp32 && 4 * s.out_channels <= 16;
}

std::int64_t forward_weights_elements(const ChainShape& s, bool joint) {
  if (joint) return 4 * weights_of(s, joint_taps(s.kernel_height), joint_taps(s.kernel_width));
  return 4 * weights_of(s, (s.kernel_height + 1) / 2, (s.kernel_width + 1) / 2);
}

std::int64_t backward_weights_elements(const ChainShape& s) {
  const int more = s.upsample ? 1 : 0;
  return weights_of(s, s.kernel_height + more, s.kernel_width + more);
}

void run(const Activations& call, Precision precision) {
  precision == Precision::fp32 ? activations_simt(call) : activations_mma(call, precision);
}

// ---- forward ----

struct ForwardParts {
  void* weights;
  void* result;
  std::size_t bytes;

  ForwardParts(const ChainShape& s, Precision precision, void* workspace) {
    Parts parts{static_cast<std::byte*>(workspace)};
    const bool joint = joins_parities(s, precision);
    weights = parts.take(s.upsample ? forward_weights_elements(s, joint) * element_bytes(precision) : 0);
    result =
        parts.take(s.pool && !pools_in_kernel(s) ? elements(result_of(s)) * element_bytes(precision) : 0);
    bytes = parts.used;
  }
};

}  // namespace

void forward(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const Image result = result_of(s);
  if (s.pool && (result.height < 2 || result.width < 2)) return;  // no window, no output
  const ForwardParts parts(s, call.precision, call.workspace);
  const void* weights = call.operand<const void>(Name::weights);
  const bool joint = joins_parities(s, call.precision);
  if (s.upsample) {
    arrange_forward(call, joint, parts.weights);
    weights = parts.weights;
  }
  const bool pools_after = s.pool && !pools_in_kernel(s);
  auto* y = call.operand<void>(Name::output);
  auto* argmax = call.operand<std::uint8_t>(Name::argmax);
  run({joint ? joint_window(s) : forward_window(s, pools_in_kernel(s)),
       joint ? 4 * s.out_channels : s.out_channels, call.operand<const void>(Name::input), weights,
       call.operand<const void>(Name::bias), s.relu, nullptr, pools_after ? parts.result : y, argmax,
       call.variant, call.stream},
      call.precision);
  if (pools_after) pool(call, result, parts.result);
}

std::size_t forward_workspace(const ChainShape& s, Precision precision) {
  return ForwardParts(s, precision, nullptr).bytes;
}

namespace {

// ---- backward ----

/// The gradient of the convolution's output: the call's, or what pooling made that from, in `memory`.
const void* gradient_of(const ChainCall& call, void* memory) {
  if (!call.shape.pool) return call.operand<const void>(Name::output_gradient);
  unpool(call, result_of(call.shape), memory);
  return memory;
}

std::int64_t gradient_bytes(const ChainShape& s, Precision precision) {
  return s.pool ? elements(result_of(s)) * element_bytes(precision) : 0;
}

struct InputParts {
  void* gradient;
  void* weights;
  std::size_t bytes;

  InputParts(const ChainShape& s, Precision precision, void* workspace) {
    Parts parts{static_cast<std::byte*>(workspace)};
    gradient = parts.take(gradient_bytes(s, precision));
    weights = parts.take(backward_weights_elements(s) * element_bytes(precision));
    bytes = parts.used;
  }
};

}  // namespace

void backward_input(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const InputParts parts(s, call.precision, call.workspace);
  arrange_backward(call, parts.weights);
  const void* dz = gradient_of(call, parts.gradient);
  run({backward_window(s), s.in_channels, dz, parts.weights, nullptr, false,
       s.masked ? call.operand<const void>(Name::input) : nullptr, call.operand<void>(Name::input_gradient),
       nullptr, call.variant, call.stream},
      call.precision);
}

std::size_t backward_input_workspace(const ChainShape& s, Precision precision) {
  return InputParts(s, precision, nullptr).bytes;
}

OpShape convolution_of(const ChainShape& s) {
  const int scale = s.upsample ? 2 : 1;
  return {.batch = s.batch,
          .height = scale * s.height,
          .width = scale * s.width,
          .in_channels = s.in_channels,
          .out_channels = s.out_channels,
          .kernel_height = s.kernel_height,
          .kernel_width = s.kernel_width,
          .valid = s.valid};
}

namespace {

const Variant& plain_weights(Precision precision) {
  static const Variant simt = conv2d::implicit_gemm_backward_weights();
  static const Variant tensor = conv2d::mma_backward_weights();
  return precision == Precision::fp32 ? simt : tensor;
}

const Variant& plain_bias() {
  static const Variant bias = conv2d::warp_shuffle_backward_bias();
  return bias;
}

std::int64_t workspace_of(const Variant& variant, const OpShape& shape, Precision precision) {
  return static_cast<std::int64_t>(variant.workspace_bytes(shape, precision));
}

/// A convolution with an output like the pooled one, whose elements add up to the bias gradient as those
/// before pooling do.
OpShape pooled_convolution_of(const ChainShape& s) {
  OpShape conv = convolution_of(s);
  if (s.pool) {
    conv.height /= 2;
    conv.width /= 2;
  }
  return conv;
}

struct WeightsParts {
  WeightsWay way;
  void* gradient;
  void* product;  ///< parts of the sum, or what conv2d's variant works in
  void* bias;
  std::size_t bytes;

  WeightsParts(const ChainShape& s, Precision precision, void* workspace) : way(weights_way(s, precision)) {
    Parts parts{static_cast<std::byte*>(workspace)};
    gradient = parts.take(way == WeightsWay::pooled ? 0 : gradient_bytes(s, precision));
    if (way == WeightsWay::conv2d) {
      product = parts.take(workspace_of(plain_weights(precision), convolution_of(s), precision));
    } else {
      const WeightsPlan plan = plan_weights(s, precision);
      product = parts.take(static_cast<std::int64_t>(sizeof(float)) * plan.splits * plan.split_elements());
    }
    bias = parts.take(s.bias ? workspace_of(plain_bias(), pooled_convolution_of(s), precision) : 0);
    bytes = parts.used;
  }
};

/// Runs a variant of one op with operands of its own beside those of `mine`.
void run_plain(const Variant& variant, const ChainCall& mine, const OpShape& shape,
               const void* output_gradient, void* workspace) {
  OpCall call;
  call.variant = &variant;
  call.shape = shape;
  call.precision = mine.precision;
  call.operands = mine.operands;
  call.operands[Name::output_gradient] = const_cast<void*>(output_gradient);
  if (!variant.chain.empty()) call.operands[Name::bias_gradient] = nullptr;
  call.workspace = workspace;
  call.stream = mine.stream;
  variant.launch(call);
}

/// The weights gradient by a product of this variant.
void run_own(const ChainCall& call, const WeightsParts& parts, const void* gradient) {
  const ChainShape& s = call.shape;
  const bool pooled = parts.way == WeightsWay::pooled;
  const Weights product{plan_weights(s, call.precision),
                        pooled ? forward_window(s, true) : backward_window(s),
                        call.operand<const void>(Name::input),
                        gradient,
                        static_cast<float*>(parts.product),
                        call.variant,
                        call.stream};
  if (pooled) {
    pooled_weights_mma(product, call.operand<const std::uint8_t>(Name::argmax), call.precision);
  } else if (call.precision == Precision::fp32) {
    weights_simt(product);
  } else {
    weights_mma(product, call.precision);
  }
  fold_weights(call, product.plan, pooled, product.partial);
}

}  // namespace

void backward_weights(const ChainCall& call) {
  const ChainShape& s = call.shape;
  const WeightsParts parts(s, call.precision, call.workspace);
  const void* dy = call.operand<const void>(Name::output_gradient);
  if (parts.way == WeightsWay::pooled) {
    run_own(call, parts, dy);
  } else {
    const void* dz = gradient_of(call, parts.gradient);
    if (parts.way == WeightsWay::window) {
      run_own(call, parts, dz);
    } else {
      run_plain(plain_weights(call.precision), call, convolution_of(s), dz, parts.product);
    }
  }
  if (s.bias) run_plain(plain_bias(), call, pooled_convolution_of(s), dy, parts.bias);
}

std::size_t backward_weights_workspace(const ChainShape& s, Precision precision) {
  return WeightsParts(s, precision, nullptr).bytes;
}

namespace {

// ---- the variants ----

template <void (*Launch)(const ChainCall&)>
void launch(const OpCall& call) {
  Launch(call_of(call));
}

template <std::size_t (*Bytes)(const ChainShape&, Precision)>
std::size_t workspace(const OpShape& shape, Precision precision) {
  return Bytes(shape_of(shape), precision);
}

template <void (*Launch)(const ChainCall&), std::size_t (*Bytes)(const ChainShape&, Precision)>
Variant variant(Op op, const char* summary) {
  Variant made = chain_variant(op, "fused", summary);
  made.minimum_compute_capability = 80;
  made.launch = launch<Launch>;
  made.workspace_bytes = workspace<Bytes>;
  made.refuses = refuses;
  return made;
}

}  // namespace

std::string refuses(const OpShape& shape) {
  if (!is_plain(shape)) return refuses_unless_plain(shape);
  // What the call of another variant notes, whose pooling has that window.
  if (shape.window_height != 1 || shape.window_width != 1) return "takes pooling in windows of 2x2";
  const ChainShape s = shape_of(shape);
  const std::int64_t largest =
      std::max({s.batch * s.height * s.width * s.in_channels, elements(result_of(s)),
                backward_weights_elements(s), s.upsample ? forward_weights_elements(s, true) : 0});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  if (std::max(s.kernel_height, s.kernel_width) + (s.upsample ? 1 : 0) > kMostKernel) {
    return "takes kernels of at most 15x15, of 13x13 after upsampling";
  }
  return "";
}

}  // namespace fused::general

Variant fused_forward() {
  using namespace fused::general;
  return variant<forward, forward_workspace>(
      Op::conv2d_forward,
      "One product with bias, ReLU and pooling in its sums; an upsampled image is four smaller products.");
}
Variant fused_backward_weights() {
  using namespace fused::general;
  return variant<backward_weights, backward_weights_workspace>(
      Op::conv2d_backward_weights,
      "The gradients of an upsampled input's summed taps in one product, handed to their taps.");
}
Variant fused_backward_input() {
  using namespace fused::general;
  return variant<backward_input, backward_input_workspace>(
      Op::conv2d_backward_input,
      "One product with the mask in its sums; for an upsampled image at every other pixel.");
}

}  // namespace warpscope::ops::conv2d
