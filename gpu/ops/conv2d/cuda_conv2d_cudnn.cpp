// conv2d, variant `cudnn`: NVIDIA's own kernels, the measure of ours. Forward, gradient of the input and
// gradient of the weights, each an operation graph of one node over the NHWC tensors as they lie in memory;
// the engine is the first in the order of cuDNN's heuristics (mode A, then B, then its fallbacks) that is
// deterministic, sums in FP32, neither converts its inputs down nor transforms them (Winograd, FFT), and fits
// the workspace. fp32 takes no engine on tensor cores, tf32 one of those where there is one.
//
// Weight gradients in fp16 and bf16 are written in FP32 where an engine can (cuDNN 9.19 offers none on an
// H100), else in 16 bits to the workspace and widened, at the cost of one more rounding.
// Limits: cuDNN 9, opened when first used; compute capability 7.5; operands aligned to 16 bytes; workspace up
// to workspace_bytes() below. Shapes that no engine takes are refused by prepare, in words.
// Source: NVIDIA cuDNN documentation, "Graph API"; S. Chetlur et al., "cuDNN: Efficient primitives for deep
// learning" (2014).

#if WARPSCOPE_HAVE_CUDNN

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/cuda_cudnn_graph.h"
#include "gpu/ops/cudnn_widen.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::conv2d {
namespace {

using cudnn::Descriptor;
using cudnn::storage_of;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kSmallestLimit = 16 * kMebibyte;
constexpr std::size_t kLargestLimit = 512 * kMebibyte;
constexpr std::size_t kWorkspaceAlignment = 256;
constexpr std::int64_t kAlignment = 16;
constexpr std::array<std::int64_t, 3> kIds{1, 2, 3};  ///< of the tensors, in the order of the operands

/// Names of the attributes of one kind of convolution node, tensors in the order of the op's operands.
struct Node {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution;
  cudnnBackendAttributeName_t alpha;
  cudnnBackendAttributeName_t beta;
  std::array<cudnnBackendAttributeName_t, 3> tensors;
};

const Node& node_of(Op op) {
  static const Node forward{
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}};
  static const Node backward_input{
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX}};
  static const Node backward_weights{
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW}};
  switch (op) {
    case Op::conv2d_forward:
      return forward;
    case Op::conv2d_backward_input:
      return backward_input;
    case Op::conv2d_backward_weights:
      return backward_weights;
    default:
      throw std::logic_error("no convolution of cuDNN");
  }
}

/// A tensor of (outermost, channels, rows, columns), in cuDNN's order of dimensions, with the channels
/// innermost in memory: activations (N,H,W,C) and weights (K,R,S,C) alike.
Descriptor tensor(std::int64_t id, cudnnDataType_t type, std::int64_t outermost, std::int64_t channels,
                  std::int64_t rows, std::int64_t columns) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set_data_type(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set_integers(CUDNN_ATTR_TENSOR_DIMENSIONS, std::array{outermost, channels, rows, columns});
  made.set_integers(CUDNN_ATTR_TENSOR_STRIDES,
                    std::array{rows * columns * channels, std::int64_t{1}, columns * channels, channels});
  made.set_integer(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set_integer(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  made.finalize("a tensor");
  return made;
}

Descriptor convolution(const OpShape& s) {
  const std::array<std::int64_t, 2> padding{padding_of(s, s.kernel_height), padding_of(s, s.kernel_width)};
  const std::array<std::int64_t, 2> dilations{s.dilation, s.dilation};
  const std::array<std::int64_t, 2> strides{s.stride, s.stride};
  const auto mode = CUDNN_CROSS_CORRELATION;
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set_integer(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  made.set_data_type(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  made.set_integers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  made.set_integers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  made.set_integers(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
  made.set_integers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  made.finalize("the convolution");
  return made;
}

/// The graph of `op` and what it is made of; the graph is the last.
std::vector<Descriptor> build_graph(Op op, const OpShape& s, cudnnDataType_t storage, cudnnDataType_t result,
                                    const cudnn::Handle& handle) {
  const auto input = [&](std::int64_t id, cudnnDataType_t type) {
    return tensor(id, type, s.batch, s.in_channels, s.height, s.width);
  };
  const auto output = [&](std::int64_t id, cudnnDataType_t type) {
    return tensor(id, type, s.batch, s.out_channels, output_height(s), output_width(s));
  };
  const auto weights = [&](std::int64_t id, cudnnDataType_t type) {
    return tensor(id, type, s.out_channels, s.in_channels, s.kernel_height, s.kernel_width);
  };
  std::vector<Descriptor> parts;
  for (const Operand& operand : contract(op).operands) {
    const std::int64_t id = kIds[parts.size()];
    const auto type = operand.access == Access::read ? storage : result;
    const bool is_weights = operand.name == Name::weights || operand.name == Name::weights_gradient;
    const bool is_input = operand.name == Name::input || operand.name == Name::input_gradient;
    parts.push_back(is_weights ? weights(id, type) : is_input ? input(id, type) : output(id, type));
  }
  const Node& names = node_of(op);
  Descriptor node(names.type);
  for (std::size_t i = 0; i < 3; ++i) node.set_descriptor(names.tensors[i], parts[i]);
  parts.push_back(convolution(s));
  node.set_descriptor(names.convolution, parts.back());
  node.set_float(names.alpha, 1.0f);
  node.set_float(names.beta, 0.0f);
  node.finalize("the convolution's node");
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_handle(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set_descriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS, node);
  graph.finalize("the operation graph");
  parts.push_back(std::move(node));
  parts.push_back(std::move(graph));
  return parts;
}

std::int64_t weights_count(const OpShape& s) {
  return std::int64_t{s.kernel_height} * s.kernel_width * s.in_channels * s.out_channels;
}

/// Room for a weight gradient in 16 bits, where one may be needed.
std::size_t narrow_gradient_bytes(Op op, const OpShape& s, core::Precision precision) {
  if (op != Op::conv2d_backward_weights || storage_of(precision) == CUDNN_DATA_FLOAT) return 0;
  const auto bytes = static_cast<std::size_t>(weights_count(s)) * 2;
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// What an engine may use: engines that work in another layout hold copies of all three tensors.
template <Op Which>
std::size_t engine_workspace(const OpShape& shape, core::Precision precision) {
  std::size_t operands = 0;
  for (const Operand& operand : contract(Which).operands) {
    operands += static_cast<std::size_t>(operand.elements(shape)) *
                core::size_of(element_type(operand.role, precision));
  }
  const std::size_t bytes = std::min(kSmallestLimit + operands, kLargestLimit);
  return bytes / kWorkspaceAlignment * kWorkspaceAlignment;
}

template <Op Which>
std::size_t workspace(const OpShape& shape, core::Precision precision) {
  return engine_workspace<Which>(shape, precision) + narrow_gradient_bytes(Which, shape, precision);
}

class Convolution final : public Prepared {
 public:
  Convolution(Op op, const OpShape& shape, core::Precision precision, std::size_t workspace_limit,
              core::Device& device)
      : op_(op),
        narrow_bytes_(narrow_gradient_bytes(op, shape, precision)),
        handle_(cudnn::shared_handle(device)) {
    device.make_current();
    const std::lock_guard lock(handle_->mutex);
    const auto storage = storage_of(precision);
    const bool narrow_possible = narrow_bytes_ > 0;
    std::string why;
    if (choose(shape, precision, storage, narrow_possible ? CUDNN_DATA_FLOAT : storage, workspace_limit,
               why)) {
      return;
    }
    widens_ = narrow_possible;
    if (widens_ && choose(shape, precision, storage, storage, workspace_limit, why)) return;
    throw core::BadInput(fmt::format("{} cudnn has no engine for {} in {} ({}); choose another variant",
                                     to_string(op), describe(op, shape), core::to_string(precision), why));
  }

  void run(const OpCall& call) {
    std::array<void*, 3> tensors;
    const auto own = contract(op_).operands;
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i] = call.operands[own[i].name];
    auto* const scratch = static_cast<std::byte*>(call.workspace);
    if (widens_) tensors.back() = scratch;
    for (const void* pointer : tensors) {
      if (reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0) continue;
      throw core::Error(
          fmt::format("{} cudnn: an operand is not aligned to {} bytes", to_string(op_), kAlignment));
    }
    void* const workspace = scratch + (widens_ ? narrow_bytes_ : 0);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, tensors.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    pack.finalize("the variant pack");
    cudnn::execute(*handle_, chosen_.plan(), pack, *call.stream);
    if (widens_) {
      cudnn::widen({scratch}, call.precision, call.operand<float>(Name::weights_gradient),
                   weights_count(call.shape), *call.stream, "conv2d.backward_weights cudnn");
    }
  }

 private:
  bool choose(const OpShape& shape, core::Precision precision, cudnnDataType_t storage,
              cudnnDataType_t result, std::size_t workspace_limit, std::string& why) {
    graph_ = build_graph(op_, shape, storage, result, *handle_);
    cudnn::EnginePolicy policy;
    policy.workspace_limit = workspace_limit;
    policy.tensor_cores_allowed = precision != core::Precision::fp32;
    policy.tensor_cores_required = precision == core::Precision::tf32;
    chosen_ = cudnn::choose_plan(*handle_, graph_.back(), policy, why);
    if (chosen_.parts.empty() && policy.tensor_cores_required) {
      policy.tensor_cores_required = false;
      chosen_ = cudnn::choose_plan(*handle_, graph_.back(), policy, why);
    }
    return !chosen_.parts.empty();
  }

  Op op_;
  std::size_t narrow_bytes_;
  bool widens_ = false;
  std::shared_ptr<cudnn::Handle> handle_;  // before what was made with it: freed after
  std::vector<Descriptor> graph_;
  cudnn::ExecutionPlan chosen_;
};

template <Op Which>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  return std::make_unique<Convolution>(Which, call.shape, call.precision,
                                       engine_workspace<Which>(call.shape, call.precision),
                                       *call.context->device);
}

template <Op Which>
void launch(const OpCall& call) {
  auto* convolution = dynamic_cast<Convolution*>(call.prepared);
  if (convolution == nullptr) {
    throw std::logic_error(fmt::format("{} cudnn was launched unprepared", to_string(Which)));
  }
  convolution->run(call);
}

std::string refuses(const OpShape&) {
  return cudnn::unavailable_reason();
}

template <Op Which>
Variant cudnn_variant() {
  using enum core::Precision;
  return cuda_variant(Which, "cudnn", launch<Which>,
                      "cuDNN's kernels, the deterministic one that its heuristics rank first.",
                      {.precisions = {fp32, tf32, fp16, bf16},
                       .library = true,
                       .presets = {{"cudnn", true}},
                       .workspace_bytes = workspace<Which>,
                       .refuses = refuses,
                       .prepare = prepare<Which>});
}

}  // namespace

Variant cudnn_forward() {
  return cudnn_variant<Op::conv2d_forward>();
}
Variant cudnn_backward_input() {
  return cudnn_variant<Op::conv2d_backward_input>();
}
Variant cudnn_backward_weights() {
  return cudnn_variant<Op::conv2d_backward_weights>();
}

}  // namespace warpscope::ops::conv2d

#endif
