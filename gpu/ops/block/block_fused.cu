// block, variant `fused`: one product a pass with everything around it. Over the layers one by one it adds
// that an upsampled image is never made and its convolution costs 2.25 times fewer products (3x3 kernels),
// that bias, ReLU and pooling are done to the sums before they are written, and that the mask of
// backward_input is too. FP32 runs on the CUDA cores (block_fused_simt.cu), TF32 and 16 bits on tensor
// cores (block_fused_mma*.cu).
//
// Pooling is a pass of its own after upsampling or if the filters do not come in fours. The gradient before
// pooling is made in the workspace, but for the weights gradient of a first layer on tensor cores. Without
// upsampling the weights gradient is conv2d's `implicit_gemm` or `mma` where channels are few or do not fill
// 16 bytes, and in FP32. For so few filters that all parities fit in the columns of one tile (up to four)
// tensor cores make them together.
// Limits: tensors of at most 2e9 elements; kernels of at most 15x15, 13x13 after upsampling.
// Source: block.h.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "gpu/core/cuda.h"
#include "gpu/ops/block/block.h"
#include "gpu/ops/block/block_variants.h"
#include "gpu/ops/block/fused.h"
#include "gpu/ops/conv2d/conv2d_variants.h"
#include "gpu/ops/storage.cuh"

namespace warpscope::ops::block {
namespace fused {
namespace {

using core::Precision;

constexpr std::int64_t kMostElements = 2'000'000'000;
constexpr int kMostKernel = 15;
constexpr std::size_t kAlignment = 256;

/// The parts of a call's workspace, in order; each from a multiple of kAlignment on.
struct Parts {
  std::byte* workspace;  ///< nullptr to count alone
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
Image result_of(const OpShape& s) {
  const unsigned scale = s.upsample ? 2 : 1;
  return {s.batch, scale * static_cast<unsigned>(s.height), scale * static_cast<unsigned>(s.width),
          static_cast<unsigned>(s.out_channels)};
}

std::int64_t elements(const Image& image) {
  return image.batch * image.height * image.width * image.channels;
}

/// Whether the convolution's kernel pools too.
bool pools_in_kernel(const OpShape& s) {
  return s.pool && !s.upsample && s.out_channels % 4 == 0;
}

std::int64_t weights_of(const OpShape& s, int height, int width) {
  return std::int64_t{height} * width * s.in_channels * s.out_channels;
}

/// Whether an upsampled block's parities are made together: on tensor cores, whose tiles have 16 columns at
/// least.
bool joins_parities(const OpShape& s, Precision precision) {
  return s.upsample && precision != Precision::fp32 && 4 * s.out_channels <= 16;
}

std::int64_t forward_weights(const OpShape& s, bool joint) {
  if (joint) return 4 * weights_of(s, joint_taps(s.kernel_height), joint_taps(s.kernel_width));
  return 4 * weights_of(s, (s.kernel_height + 1) / 2, (s.kernel_width + 1) / 2);
}

std::int64_t backward_weights(const OpShape& s) {
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

  ForwardParts(const OpShape& s, Precision precision, void* workspace) {
    Parts parts{static_cast<std::byte*>(workspace)};
    const bool joint = joins_parities(s, precision);
    weights = parts.take(s.upsample ? forward_weights(s, joint) * element_bytes(precision) : 0);
    result =
        parts.take(s.pool && !pools_in_kernel(s) ? elements(result_of(s)) * element_bytes(precision) : 0);
    bytes = parts.used;
  }
};

void forward(const OpCall& call) {
  const OpShape& s = call.shape;
  const Image result = result_of(s);
  if (s.pool && (result.height < 2 || result.width < 2)) return;  // no window, no output
  const ForwardParts parts(s, call.precision, call.workspace);
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  const void* weights = call.operand<const void>(kForwardWeights);
  const bool joint = joins_parities(s, call.precision);
  if (s.upsample) {
    arrange_forward(s, call.precision, joint, weights, parts.weights, stream);
    weights = parts.weights;
  }
  const bool pools_after = s.pool && !pools_in_kernel(s);
  auto* y = call.operand<void>(kForwardOutput);
  auto* argmax = call.operand<std::uint8_t>(kForwardArgmax);
  run({joint ? joint_window(s) : forward_window(s, pools_in_kernel(s)),
       joint ? 4 * s.out_channels : s.out_channels, call.operand<const void>(kForwardInput), weights,
       call.operand<const void>(kForwardBias), s.relu, nullptr, pools_after ? parts.result : y, argmax,
       stream},
      call.precision);
  if (pools_after) pool(result, call.precision, parts.result, y, argmax, stream);
}

std::size_t forward_workspace(const OpShape& s, Precision precision) {
  return ForwardParts(s, precision, nullptr).bytes;
}

// ---- backward ----

/// The gradient of the convolution's output: `dy`, or what pooling made it from, in `memory`.
const void* gradient_of(const OpCall& call, const void* dy, const std::uint8_t* argmax, void* memory) {
  if (!call.shape.pool) return dy;
  unpool(result_of(call.shape), call.precision, dy, argmax, memory, core::cuda_stream(*call.stream));
  return memory;
}

std::int64_t gradient_bytes(const OpShape& s, Precision precision) {
  return s.pool ? elements(result_of(s)) * element_bytes(precision) : 0;
}

struct InputParts {
  void* gradient;
  void* weights;
  std::size_t bytes;

  InputParts(const OpShape& s, Precision precision, void* workspace) {
    Parts parts{static_cast<std::byte*>(workspace)};
    gradient = parts.take(gradient_bytes(s, precision));
    weights = parts.take(backward_weights(s) * element_bytes(precision));
    bytes = parts.used;
  }
};

void backward_input(const OpCall& call) {
  const OpShape& s = call.shape;
  const InputParts parts(s, call.precision, call.workspace);
  const cudaStream_t stream = core::cuda_stream(*call.stream);
  arrange_backward(s, call.precision, call.operand<const void>(kInputWeights), parts.weights, stream);
  const void* dz = gradient_of(call, call.operand<const void>(kInputOutputGradient),
                               call.operand<const std::uint8_t>(kInputArgmax), parts.gradient);
  run({backward_window(s), s.in_channels, dz, parts.weights, nullptr, false,
       s.masked ? call.operand<const void>(kInputInput) : nullptr, call.operand<void>(kInputInputGradient),
       nullptr, stream},
      call.precision);
}

std::size_t backward_input_workspace(const OpShape& s, Precision precision) {
  return InputParts(s, precision, nullptr).bytes;
}

/// The convolution by itself, as conv2d's variants take it.
OpShape convolution_of(const OpShape& s) {
  OpShape conv = s;
  conv.upsample = conv.relu = conv.pool = conv.masked = false;
  if (s.upsample) {
    conv.height *= 2;
    conv.width *= 2;
  }
  return conv;
}

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
OpShape pooled_convolution_of(const OpShape& s) {
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

  WeightsParts(const OpShape& s, Precision precision, void* workspace) : way(weights_way(s, precision)) {
    Parts parts{static_cast<std::byte*>(workspace)};
    gradient = parts.take(way == WeightsWay::pooled ? 0 : gradient_bytes(s, precision));
    if (way == WeightsWay::conv2d) {
      product = parts.take(workspace_of(plain_weights(precision), convolution_of(s), precision));
    } else {
      const WeightsPlan plan = plan_weights(s, precision);
      product = parts.take(static_cast<std::int64_t>(sizeof(float)) * plan.splits * plan.split_elements());
    }
    bias = parts.take(workspace_of(plain_bias(), pooled_convolution_of(s), precision));
    bytes = parts.used;
  }
};

void run_plain(const Variant& variant, const OpCall& block, const OpShape& shape,
               std::span<void* const> operands, void* workspace) {
  OpCall call;
  call.shape = shape;
  call.precision = block.precision;
  call.operands = operands;
  call.workspace = workspace;
  call.stream = block.stream;
  variant.launch(call);
}

/// The weights gradient by a product of this variant.
void run_own(const OpCall& call, const WeightsParts& parts, const void* gradient) {
  const OpShape& s = call.shape;
  const bool pooled = parts.way == WeightsWay::pooled;
  const Weights product{
      plan_weights(s, call.precision),         pooled ? forward_window(s, true) : backward_window(s),
      call.operand<const void>(kWeightsInput), gradient,
      static_cast<float*>(parts.product),      core::cuda_stream(*call.stream)};
  if (pooled) {
    pooled_weights_mma(product, call.operand<const std::uint8_t>(kWeightsArgmax), call.precision);
  } else if (call.precision == Precision::fp32) {
    weights_simt(product);
  } else {
    weights_mma(product, call.precision);
  }
  fold_weights(product.plan, s, pooled, product.partial, call.operand<float>(kWeightsGradient),
               product.stream);
}

void backward_weights(const OpCall& call) {
  const OpShape& s = call.shape;
  const WeightsParts parts(s, call.precision, call.workspace);
  void* const dy = call.operand<void>(kWeightsOutputGradient);
  if (parts.way == WeightsWay::pooled) {
    run_own(call, parts, dy);
  } else {
    const void* dz = gradient_of(call, dy, call.operand<const std::uint8_t>(kWeightsArgmax), parts.gradient);
    void* const operands[] = {call.operand<void>(kWeightsInput), const_cast<void*>(dz),
                              call.operand<void>(kWeightsGradient)};
    parts.way == WeightsWay::window
        ? run_own(call, parts, dz)
        : run_plain(plain_weights(call.precision), call, convolution_of(s), operands, parts.product);
  }
  void* const bias_operands[] = {dy, call.operand<void>(kWeightsBiasGradient)};
  run_plain(plain_bias(), call, pooled_convolution_of(s), bias_operands, parts.bias);
}

std::size_t backward_weights_workspace(const OpShape& s, Precision precision) {
  return WeightsParts(s, precision, nullptr).bytes;
}

// ---- the variants ----

std::string refuses(const OpShape& s) {
  const std::int64_t largest = std::max({s.batch * s.height * s.width * s.in_channels, elements(result_of(s)),
                                         backward_weights(s), s.upsample ? forward_weights(s, true) : 0});
  if (largest > kMostElements) return "takes tensors of at most 2,000,000,000 elements";
  if (std::max(s.kernel_height, s.kernel_width) + (s.upsample ? 1 : 0) > kMostKernel) {
    return "takes kernels of at most 15x15, of 13x13 after upsampling";
  }
  return "";
}

Variant variant(Op op, const char* summary, void (*launch)(const OpCall&),
                std::size_t (*workspace)(const OpShape&, Precision)) {
  return {.op = op,
          .name = "fused",
          .device = core::DeviceKind::cuda,
          .precisions = all_precisions(),
          .minimum_compute_capability = 80,
          .summary = summary,
          .launch = launch,
          .workspace_bytes = workspace,
          .refuses = refuses};
}

}  // namespace
}  // namespace fused

Variant fused_forward() {
  return fused::variant(
      Op::block_forward,
      "One product with bias, ReLU and pooling in its sums; an upsampled image is four smaller products.",
      fused::forward, fused::forward_workspace);
}
Variant fused_backward_weights() {
  return fused::variant(
      Op::block_backward_weights,
      "The gradients of an upsampled block's summed taps in one product, handed to their taps.",
      fused::backward_weights, fused::backward_weights_workspace);
}
Variant fused_backward_input() {
  return fused::variant(Op::block_backward_input,
                        "One product with the mask in its sums; for an upsampled image at every other pixel.",
                        fused::backward_input, fused::backward_input_workspace);
}

}  // namespace warpscope::ops::block
