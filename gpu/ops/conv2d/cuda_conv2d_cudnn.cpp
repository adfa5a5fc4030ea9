// conv2d, variants `cudnn` and `cudnn_fused`: NVIDIA's own kernels, the measure of ours. Forward, gradient of the input
// and gradient of the weights, each an operation graph over the NHWC tensors as they lie in memory. The engines that
// cuDNN's heuristics rank first are timed if they are deterministic, sum in FP32, neither convert their inputs down nor
// transform them (Winograd, FFT) and fit the workspace; the fastest runs (cuda_cudnn_search.h). fp32 takes no engine on
// tensor cores; the others take one without only where there is no other.
//
// `cudnn_fused` adds the bias and ReLU that follow: in the same graph where a compiled engine computes that, else, or
// where that is faster, by passes of our own over the output. Engines that cuDNN compiles at run time are left out
// there: they take tenths of a second for each shape.
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
#include <ranges>
#include <stdexcept>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/conv2d/conv2d.h"
#include "gpu/ops/cuda_cudnn_graph.h"
#include "gpu/ops/cuda_cudnn_search.h"
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
/// Tensors of a graph: the op's operands in their order, then the bias.
constexpr std::array<std::int64_t, 4> kIds{1, 2, 3, 4};
constexpr std::int64_t kProductId = 5;
constexpr std::int64_t kBiasedId = 6;
constexpr std::size_t kMostWays = 5;   ///< that are timed
constexpr std::size_t kMostFused = 2;  ///< of these, with bias and ReLU in the engine
constexpr std::size_t kMostWide =
    2;  ///< of these, that write weight gradients in FP32 where 16 bits are stored
constexpr double kWorthTiming = 1e8;  ///< floating-point operations of a call

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
                  std::int64_t rows, std::int64_t columns, bool stored = true) {
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set_data_type(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  made.set_integers(CUDNN_ATTR_TENSOR_DIMENSIONS, std::array{outermost, channels, rows, columns});
  made.set_integers(CUDNN_ATTR_TENSOR_STRIDES,
                    std::array{rows * columns * channels, std::int64_t{1}, columns * channels, channels});
  made.set_integer(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set_integer(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  const bool is_virtual = !stored;
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
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

/// to = mode(from, beside), in FP32; without `beside` where that is nullptr.
Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& from, const Descriptor* beside,
                     const Descriptor& to, std::vector<Descriptor>& parts) {
  const auto propagate = CUDNN_PROPAGATE_NAN;
  Descriptor operation(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  operation.set_data_type(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  if (beside == nullptr)
    operation.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &propagate);
  operation.finalize("a pointwise operation");
  Descriptor node(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, operation);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  if (beside != nullptr) node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *beside);
  node.set_descriptor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  node.finalize("a pointwise node");
  parts.push_back(std::move(operation));
  return node;
}

/// The tensors of `op`, in the order of its operands.
std::vector<Descriptor> tensors_of(Op op, const OpShape& s, cudnnDataType_t storage, cudnnDataType_t result) {
  std::vector<Descriptor> tensors;
  for (const Operand& operand : contract(op).operands) {
    const std::int64_t id = kIds[tensors.size()];
    const auto type = operand.access == Access::read ? storage : result;
    const bool is_weights = operand.name == Name::weights || operand.name == Name::weights_gradient;
    const bool is_input = operand.name == Name::input || operand.name == Name::input_gradient;
    tensors.push_back(
        is_weights ? tensor(id, type, s.out_channels, s.in_channels, s.kernel_height, s.kernel_width)
        : is_input ? tensor(id, type, s.batch, s.in_channels, s.height, s.width)
                   : tensor(id, type, s.batch, s.out_channels, output_height(s), output_width(s)));
  }
  return tensors;
}

/// The node of `op` whose last tensor is `made`.
Descriptor product_node(Op op, const OpShape& s, const std::vector<Descriptor>& tensors,
                        const Descriptor& made, std::vector<Descriptor>& parts) {
  const Node& names = node_of(op);
  Descriptor node(names.type);
  node.set_descriptor(names.tensors[0], tensors[0]);
  node.set_descriptor(names.tensors[1], tensors[1]);
  node.set_descriptor(names.tensors[2], made);
  parts.push_back(convolution(s));
  node.set_descriptor(names.convolution, parts.back());
  node.set_float(names.alpha, 1.0f);
  node.set_float(names.beta, 0.0f);
  node.finalize("the convolution's node");
  return node;
}

/// The graph of `nodes` and what it is made of; the graph is the last.
std::vector<Descriptor> graph_of(std::vector<Descriptor> nodes, std::vector<Descriptor> parts,
                                 const cudnn::Handle& handle) {
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_handle(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, nodes);
  graph.finalize("the operation graph");
  for (Descriptor& node : nodes) parts.push_back(std::move(node));
  parts.push_back(std::move(graph));
  return parts;
}

std::vector<Descriptor> plain_graph(Op op, const OpShape& s, cudnnDataType_t storage, cudnnDataType_t result,
                                    const cudnn::Handle& handle) {
  std::vector<Descriptor> parts = tensors_of(op, s, storage, result);
  std::vector<Descriptor> more;
  std::vector<Descriptor> nodes;
  nodes.push_back(product_node(op, s, parts, parts[2], more));
  for (Descriptor& part : more) parts.push_back(std::move(part));
  return graph_of(std::move(nodes), std::move(parts), handle);
}

/// That of conv2d.forward with bias, and ReLU if the call covers it.
std::vector<Descriptor> fused_graph(const OpShape& s, cudnnDataType_t storage, const cudnn::Handle& handle) {
  const auto passing = [&](std::int64_t id) {
    return tensor(id, CUDNN_DATA_FLOAT, s.batch, s.out_channels, output_height(s), output_width(s), false);
  };
  const bool has_relu = s.covered.has(Op::relu_forward);
  std::vector<Descriptor> parts = tensors_of(Op::conv2d_forward, s, storage, storage);
  Descriptor bias = tensor(kIds[3], storage, 1, s.out_channels, 1, 1);
  Descriptor product = passing(kProductId);
  Descriptor biased = passing(kBiasedId);
  std::vector<Descriptor> more;
  std::vector<Descriptor> nodes;
  nodes.push_back(product_node(Op::conv2d_forward, s, parts, product, more));
  nodes.push_back(pointwise(CUDNN_POINTWISE_ADD, product, &bias, has_relu ? biased : parts[2], more));
  if (has_relu) nodes.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, biased, nullptr, parts[2], more));
  for (Descriptor* each : {&bias, &product, &biased}) parts.push_back(std::move(*each));
  for (Descriptor& part : more) parts.push_back(std::move(part));
  return graph_of(std::move(nodes), std::move(parts), handle);
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

std::string key_of(const OpCall& call) {
  const OpShape& s = call.shape;
  return fmt::format("{} {} {}x{}x{}x{}>{} {}x{} stride {} dilation {} {}{}{}", to_string(call.variant->op),
                     core::to_string(call.precision), s.batch, s.height, s.width, s.in_channels,
                     s.out_channels, s.kernel_height, s.kernel_width, s.stride, s.dilation,
                     s.valid ? "valid" : "same", call.covers(Op::bias_forward) ? " bias" : "",
                     call.covers(Op::relu_forward) ? " relu" : "");
}

/// The fastest variant of ours of an op that works element by element.
const Variant& own_variant(const OpCall& call, Op op, const OpShape& shape) {
  const auto all = variants_of(*call.context->variants, op, core::DeviceKind::cuda);
  for (const Variant* each : std::views::reverse(all)) {
    const Variant& variant = *each;
    const bool simple =
        !variant.library && variant.chain.empty() && !variant.prepare && !variant.workspace_bytes;
    if (simple && unavailable_reason(variant, call.context->device->info(), call.precision, &shape).empty()) {
      return variant;
    }
  }
  throw core::BadInput(
      fmt::format("{} has no variant that runs behind cudnn; choose another variant than "
                  "cudnn_fused",
                  to_string(op)));
}

/// One way to compute a call.
struct Way {
  cudnn::ExecutionPlan plan;
  bool fused = false;   ///< bias and ReLU are in the plan
  bool widens = false;  ///< it writes a weight gradient in 16 bits
};

/// Memory for calls that are timed.
class Room {
 public:
  /// A call like `call`, with memory.
  OpCall make(const OpCall& call) {
    const auto rounded = [](std::size_t bytes) {
      return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    };
    const std::vector<CallOperand> operands = operands_of(*call.variant, call.shape);
    std::size_t bytes = workspace_bytes(*call.variant, call.shape, call.precision);
    for (const CallOperand& each : operands) bytes += rounded(bytes_of(each, call.precision));
    memory_ = core::Buffer(call.context->device, bytes);
    auto* next = memory_.as<std::byte>();
    OpCall made = call;
    for (const CallOperand& each : operands) {
      made.operands[each.name] = next;
      next += rounded(bytes_of(each, call.precision));
    }
    made.workspace = next;
    return made;
  }

 private:
  core::Buffer memory_;
};

class Convolution final : public Prepared {
 public:
  Convolution(const OpCall& call, std::size_t workspace_limit)
      : op_(call.variant->op),
        narrow_bytes_(narrow_gradient_bytes(op_, call.shape, call.precision)),
        variants_(call.context->variants),
        handle_(cudnn::shared_handle(*call.context->device)) {
    call.context->device->make_current();
    for (const Op op : {Op::bias_forward, Op::relu_forward}) {
      if (call.covers(op)) passes_.push_back(&own_variant(call, op, result_shape(call.shape)));
    }
    const bool timed = contract(op_).flops(call.shape) >= kWorthTiming;
    const cudnn::Search search(*call.context->device, key_of(call));
    make_ways(call, workspace_limit, timed ? search.worth_making(kMostWays) : 1);
    if (timed) keep(fastest(call, search));
    if (!timed) keep(0);
  }

  void run(const OpCall& call) { run(call, ways_.front()); }

 private:
  void make_ways(const OpCall& call, std::size_t workspace_limit, std::size_t most);
  void add_fused(const OpCall& call, cudnn::EnginePolicy policy, std::size_t most);
  void add_plain(const OpCall& call, const cudnn::EnginePolicy& policy, bool narrow, std::size_t most,
                 std::string& why);
  std::size_t fastest(const OpCall& call, const cudnn::Search& search);
  void run(const OpCall& call, const Way& way) const;
  void run_passes(const OpCall& call) const;

  /// Lets the others go.
  void keep(std::size_t way) {
    if (way > 0) std::swap(ways_.front(), ways_[way]);
    ways_.erase(ways_.begin() + 1, ways_.end());
  }

  Op op_;
  std::size_t narrow_bytes_;
  Variants variants_;
  std::vector<const Variant*> passes_;     ///< bias and ReLU, where an engine computes only the product
  std::shared_ptr<cudnn::Handle> handle_;  // before what was made with it: freed after
  std::vector<std::vector<Descriptor>> graphs_;
  std::vector<Way> ways_;
};

void Convolution::make_ways(const OpCall& call, std::size_t workspace_limit, std::size_t most) {
  const std::lock_guard lock(handle_->mutex);
  const bool tensor_cores = call.precision != core::Precision::fp32;
  cudnn::EnginePolicy policy;
  policy.workspace_limit = workspace_limit;
  policy.tensor_cores_allowed = policy.tensor_cores_required = tensor_cores;
  if (!passes_.empty()) add_fused(call, policy, std::min(most, kMostFused));
  const std::size_t fused = ways_.size();
  const std::size_t wide = narrow_bytes_ > 0 ? std::min(most, kMostWide) : most;
  std::string why;
  for (const bool required : {true, false}) {
    if ((required && !tensor_cores) || ways_.size() > fused) continue;
    policy.tensor_cores_required = required;
    add_plain(call, policy, false, wide, why);
    if (narrow_bytes_ > 0) add_plain(call, policy, true, most, why);
  }
  if (!ways_.empty()) return;
  throw core::BadInput(fmt::format("{} {} has no engine for {} in {} ({}); choose another variant",
                                   to_string(op_), call.variant->name, describe(op_, call.shape),
                                   core::to_string(call.precision), why));
}

/// Where cuDNN does not take such a graph, there are passes.
void Convolution::add_fused(const OpCall& call, cudnn::EnginePolicy policy, std::size_t most) {
  policy.compiles_allowed = false;
  try {
    auto graph = fused_graph(call.shape, storage_of(call.precision), *handle_);
    std::string why;
    for (auto& plan : cudnn::plans_of(*handle_, graph.back(), policy, most, why)) {
      ways_.push_back({.plan = std::move(plan), .fused = true});
    }
    graphs_.push_back(std::move(graph));
  } catch (const core::Error&) {
    return;
  }
}

void Convolution::add_plain(const OpCall& call, const cudnn::EnginePolicy& policy, bool narrow,
                            std::size_t most, std::string& why) {
  if (ways_.size() >= most) return;
  const auto storage = storage_of(call.precision);
  const auto result = narrow_bytes_ > 0 && !narrow ? CUDNN_DATA_FLOAT : storage;
  auto graph = plain_graph(op_, call.shape, storage, result, *handle_);
  for (auto& plan : cudnn::plans_of(*handle_, graph.back(), policy, most - ways_.size(), why)) {
    ways_.push_back({.plan = std::move(plan), .widens = narrow});
  }
  graphs_.push_back(std::move(graph));
}

std::size_t Convolution::fastest(const OpCall& call, const cudnn::Search& search) {
  Room room;
  OpCall timed = call;
  return search.fastest(
      ways_.size(), [&] { timed = room.make(call); },
      [&](std::size_t way, core::Stream& stream) {
        timed.stream = &stream;
        run(timed, ways_[way]);
      });
}

void Convolution::run(const OpCall& call, const Way& way) const {
  std::vector<void*> tensors;
  for (const Operand& operand : contract(op_).operands) tensors.push_back(call.operands[operand.name]);
  auto* const scratch = static_cast<std::byte*>(call.workspace);
  if (way.widens) tensors.back() = scratch;
  if (way.fused) tensors.push_back(call.operands[Name::bias]);
  for (const void* pointer : tensors) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % kAlignment == 0) continue;
    throw core::Error(fmt::format("{} {}: an operand is not aligned to {} bytes", to_string(op_),
                                  call.variant->name, kAlignment));
  }
  void* const workspace = scratch + (way.widens ? narrow_bytes_ : 0);
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_integers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span(kIds).first(tensors.size()));
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<std::int64_t>(tensors.size()), tensors.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize("the variant pack");
  cudnn::execute(*handle_, way.plan.plan(), pack, *call.stream);
  if (way.widens) {
    cudnn::widen({scratch}, call.precision, call.operand<float>(Name::weights_gradient),
                 weights_count(call.shape), *call.stream, "conv2d.backward_weights cudnn");
  }
  if (!way.fused) run_passes(call);
}

/// Over the output in its place.
void Convolution::run_passes(const OpCall& call) const {
  for (const Variant* variant : passes_) {
    OpCall pass{variant, call.context, result_shape(call.shape), call.precision};
    pass.operands[Name::input] = pass.operands[Name::output] = call.operands[Name::output];
    if (variant->op == Op::bias_forward) pass.operands[Name::bias] = call.operands[Name::bias];
    pass.stream = call.stream;
    variant->launch(pass);
  }
}

template <Op Which>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  return std::make_unique<Convolution>(call, engine_workspace<Which>(call.shape, call.precision));
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

template <Op Which, bool Fused = false>
Variant cudnn_variant() {
  using enum core::Precision;
  return cuda_variant(
      Which, Fused ? "cudnn_fused" : "cudnn", launch<Which>,
      Fused ? "cuDNN's kernels with bias and ReLU, in the engine or behind it, whichever is faster."
            : "cuDNN's kernels: the fastest of the deterministic ones that it ranks first.",
      {.precisions = {fp32, tf32, fp16, bf16},
       .library = true,
       .chain = Fused ? bias_and_relu_after(Which) : std::vector<Link>{},
       .presets = {{"cudnn", true}},
       .workspace_bytes = workspace<Which>,
       .refuses = refuses,
       .prepare = prepare<Which>});
}

}  // namespace

Variant cudnn_forward() {
  return cudnn_variant<Op::conv2d_forward>();
}
Variant cudnn_fused_forward() {
  return cudnn_variant<Op::conv2d_forward, true>();
}
Variant cudnn_backward_input() {
  return cudnn_variant<Op::conv2d_backward_input>();
}
Variant cudnn_backward_weights() {
  return cudnn_variant<Op::conv2d_backward_weights>();
}

}  // namespace warpscope::ops::conv2d

#endif
