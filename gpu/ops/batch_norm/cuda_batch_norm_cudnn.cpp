// batch_norm, variant `cudnn`: NVIDIA's kernels for the batch's moments, for inference and for the gradients, over the
// NHWC tensors as they lie in memory. Means and reciprocal deviations are what cuDNN calls saved mean and saved inverse
// variance, so any variant's backward goes with any forward. The mode is "spatial": "spatial persistent" limits the
// range of values, and its fast kernels for NHWC hand more from forward to backward than the contract does.
// No preset has it: residual networks, whose batch norms it ran in the preset `cudnn`, made a tenth of PyTorch's speed.
// Which part it had in that was not measured by itself.
//
// Limits: cuDNN 9, opened when first used; compute capability 7.5, 8.0 in bf16; up to 65,535 images and less than 2^31
// elements; forward takes more than one position. cuDNN reads gamma and beta in FP32, so 16-bit ones are widened to the
// workspace first. It promises neither to work in place nor how many digits are left where a mean is many times the
// deviation: Variant::in_place, far_means. It would track running means only inside forward, whether a step was halted
// or not, so batch_norm.track has no such variant.
// Source: NVIDIA cuDNN documentation, "cudnn_ops library"; batch_norm.cpp.

#if WARPSCOPE_HAVE_CUDNN

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include <cudnn_ops.h>
#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/ops/cuda_cudnn_graph.h"
#include "gpu/ops/cudnn_widen.h"
#include "gpu/ops/normalization.h"
#include "gpu/ops/sizes.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::batch_norm {
namespace {

constexpr std::int64_t kMostImages = 65'535;
constexpr int kBf16ComputeCapability = 80;
constexpr auto kMode = CUDNN_BATCHNORM_SPATIAL;
static_assert(kNormEpsilon >= CUDNN_BN_MIN_EPSILON);

/// cuDNN's y = kOne result + kZero y.
constexpr float kOne = 1.0f;
constexpr float kZero = 0.0f;

/// The functions used here.
struct Functions {
  std::string why_not;
  decltype(&cudnnCreateTensorDescriptor) create = nullptr;
  decltype(&cudnnDestroyTensorDescriptor) destroy = nullptr;
  decltype(&cudnnSetTensor4dDescriptor) set = nullptr;
  decltype(&cudnnDeriveBNTensorDescriptor) derive = nullptr;
  decltype(&cudnnBatchNormalizationForwardTraining) forward = nullptr;
  decltype(&cudnnBatchNormalizationForwardInference) infer = nullptr;
  decltype(&cudnnBatchNormalizationBackward) backward = nullptr;
};

Functions find_functions() {
  Functions functions{cudnn::unavailable_reason()};
  if (!functions.why_not.empty()) return functions;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(cudnn::function(name));
    if (function == nullptr) functions.why_not = fmt::format("libcudnn.so.9 lacks {}; install cuDNN 9", name);
  };
  find("cudnnCreateTensorDescriptor", functions.create);
  find("cudnnDestroyTensorDescriptor", functions.destroy);
  find("cudnnSetTensor4dDescriptor", functions.set);
  find("cudnnDeriveBNTensorDescriptor", functions.derive);
  find("cudnnBatchNormalizationForwardTraining", functions.forward);
  find("cudnnBatchNormalizationForwardInference", functions.infer);
  find("cudnnBatchNormalizationBackward", functions.backward);
  return functions;
}

const Functions& functions() {
  static const Functions found = find_functions();
  return found;
}

/// A tensor as cuDNN's functions take it.
class Tensor {
 public:
  /// (N,H,W,C).
  Tensor(cudnnDataType_t type, const OpShape& s) : Tensor() {
    cudnn::check(functions().set(descriptor_, CUDNN_TENSOR_NHWC, type, static_cast<int>(s.batch),
                                 s.in_channels, s.height, s.width),
                 "cudnnSetTensor4dDescriptor");
  }
  /// A number in FP32 for each channel of `images`.
  Tensor(const Tensor& images, cudnnBatchNormMode_t mode) : Tensor() {
    cudnn::check(functions().derive(descriptor_, images.get(), mode), "cudnnDeriveBNTensorDescriptor");
  }
  ~Tensor() { functions().destroy(descriptor_); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  cudnnTensorDescriptor_t get() const { return descriptor_; }

 private:
  Tensor() { cudnn::check(functions().create(&descriptor_), "cudnnCreateTensorDescriptor"); }

  cudnnTensorDescriptor_t descriptor_ = nullptr;
};

/// What the calls of one op instance share.
class BatchNorm final : public Prepared {
 public:
  BatchNorm(const OpShape& shape, core::Precision precision, core::Device& device)
      : handle_(cudnn::shared_handle(device)),
        images_(cudnn::storage_of(precision), shape),
        channels_(images_, kMode) {}

  void forward(const OpCall& call) {
    const Affine wide = scale_and_shift(call);
    auto* statistics = call.operand<float>(Name::statistics);
    run(call, "cudnnBatchNormalizationForwardTraining", [&](cudnnHandle_t handle) {
      return functions().forward(
          handle, kMode, &kOne, &kZero, images_.get(), call.operand<const void>(Name::input), images_.get(),
          call.operand<void>(Name::output), channels_.get(), wide.gamma, wide.beta, 1.0, nullptr, nullptr,
          kNormEpsilon, statistics, statistics + call.shape.in_channels);
    });
  }

  void infer(const OpCall& call) {
    const Affine wide = scale_and_shift(call);
    run(call, "cudnnBatchNormalizationForwardInference", [&](cudnnHandle_t handle) {
      return functions().infer(handle, kMode, &kOne, &kZero, images_.get(),
                               call.operand<const void>(Name::input), images_.get(),
                               call.operand<void>(Name::output), channels_.get(), wide.gamma, wide.beta,
                               call.operand<const void>(Name::running_mean),
                               call.operand<const void>(Name::running_variance), kNormEpsilon);
    });
  }

  void backward(const OpCall& call) {
    const Affine wide = scale_and_shift(call);
    const auto* statistics = call.operand<const float>(Name::statistics);
    run(call, "cudnnBatchNormalizationBackward", [&](cudnnHandle_t handle) {
      return functions().backward(
          handle, kMode, &kOne, &kZero, &kOne, &kZero, images_.get(), call.operand<const void>(Name::input),
          images_.get(), call.operand<const void>(Name::output_gradient), images_.get(),
          call.operand<void>(Name::input_gradient), channels_.get(), wide.gamma,
          call.operand<void>(Name::weights_gradient), call.operand<void>(Name::bias_gradient), kNormEpsilon,
          statistics, statistics + call.shape.in_channels);
    });
  }

 private:
  /// In FP32; beta is nullptr where the call has none.
  struct Affine {
    const void* gamma;
    const void* beta;
  };
  static Affine scale_and_shift(const OpCall& call) {
    const void* gamma = call.operand<const void>(Name::weights);
    const void* beta = call.operand<const void>(Name::bias);
    if (cudnn::storage_of(call.precision) == CUDNN_DATA_FLOAT) return {gamma, beta};
    auto* wide = static_cast<float*>(call.workspace);
    const int channels = call.shape.in_channels;
    cudnn::widen({gamma, beta}, call.precision, wide, channels, *call.stream,
                 "batch_norm cudnn, gamma and beta");
    return {wide, beta == nullptr ? nullptr : wide + channels};
  }

  template <class Body>
  void run(const OpCall& call, std::string_view what, Body body) {
    cudnn::call(*handle_, *call.stream, body, what);
  }

  std::shared_ptr<cudnn::Handle> handle_;
  Tensor images_;
  Tensor channels_;
};

std::string refuses(const OpShape& s) {
  if (!functions().why_not.empty()) return functions().why_not;
  if (s.batch > kMostImages) return fmt::format("cuDNN takes up to {} images", kMostImages);
  if (sizes::input(s) > std::numeric_limits<std::int32_t>::max())
    return "cuDNN takes less than 2^31 elements";
  return "";
}

std::string refuses_forward(const OpShape& s) {
  if (sizes::pixels(s) == 1) return "cuDNN's moments are those of more than one position";
  return refuses(s);
}

std::size_t workspace(const OpShape& s, core::Precision precision) {
  if (cudnn::storage_of(precision) == CUDNN_DATA_FLOAT) return 0;
  return 2 * sizeof(float) * static_cast<std::size_t>(s.in_channels);
}

std::unique_ptr<Prepared> prepare(const OpCall& call) {
  const int has = call.context->device->info().compute_capability;
  if (call.precision == core::Precision::bf16 && has < kBf16ComputeCapability) {
    throw core::BadInput(
        fmt::format("cuDNN normalizes batches in bf16 from compute capability 8.0 on, this GPU has {}.{}; "
                    "choose another variant",
                    has / 10, has % 10));
  }
  call.context->device->make_current();
  return std::make_unique<BatchNorm>(call.shape, call.precision, *call.context->device);
}

template <Op Which>
void launch(const OpCall& call) {
  auto* prepared = dynamic_cast<BatchNorm*>(call.prepared);
  if (prepared == nullptr) {
    throw std::logic_error(fmt::format("{} cudnn was launched unprepared", to_string(Which)));
  }
  if constexpr (Which == Op::batch_norm_forward) prepared->forward(call);
  if constexpr (Which == Op::batch_norm_infer) prepared->infer(call);
  if constexpr (Which == Op::batch_norm_backward) prepared->backward(call);
}

template <Op Which>
Variant cudnn_variant() {
  using enum core::Precision;
  return cuda_variant(Which, "cudnn", launch<Which>,
                      "cuDNN's kernels in its spatial mode; no ReLU in the same call.",
                      {.precisions = {fp32, tf32, fp16, bf16},
                       .in_place = false,
                       .far_means = false,
                       .library = true,
                       .workspace_bytes = workspace,
                       .refuses = Which == Op::batch_norm_forward ? refuses_forward : refuses,
                       .prepare = prepare});
}

}  // namespace

Variant cudnn_forward() {
  return cudnn_variant<Op::batch_norm_forward>();
}
Variant cudnn_infer() {
  return cudnn_variant<Op::batch_norm_infer>();
}
Variant cudnn_backward() {
  return cudnn_variant<Op::batch_norm_backward>();
}

}  // namespace warpscope::ops::batch_norm

#endif
