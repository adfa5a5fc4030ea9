// linear, variants `cublas` and `cublas_fused`: the products by cuBLASLt, with the algorithm that its
// heuristics rank first for the shape, chosen once for an op instance. Over `tiled` it adds the library's
// tuned kernels and tensor cores (FP16, BF16, and TF32 where that is selected; in FP32 the products are true
// FP32). `cublas_fused` adds the bias and ReLU in the epilogue of forward. Limits: operands aligned to 16
// bytes; 32 MiB of workspace; what a NaN becomes in the library's ReLU is not documented. Only reductions in
// a separate step are allowed, so that the result is deterministic.
//
// cuBLASLt's matrices are column-major: what is a row-major (rows, columns) matrix here is its transpose
// there. So it is asked for y^T = W x^T and so on; biases, which it adds to each row of its result, are then
// one for each output.
//
// Source: NVIDIA, "cuBLAS library", chapter "Using the cuBLASLt API".

#if WARPSCOPE_HAVE_CUBLAS

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/cuda.h"
#include "gpu/core/error.h"
#include "gpu/ops/chains.h"
#include "gpu/ops/linear/cublaslt_library.h"
#include "gpu/ops/variant.h"

namespace warpscope::ops::linear {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;
// Bytes that every operand is aligned to. Plans and tests align to more; what is declared to the heuristics must hold.
constexpr std::uint32_t kAlignment = 16;

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw core::Error(fmt::format("{}: cuBLASLt failed with {}", what, cublaslt().status_name(status)));
}

/// The library's state on one device.
class Handle {
 public:
  Handle() { check(cublaslt().create(&handle_), "opening cuBLASLt"); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { cublaslt().destroy(handle_); }
  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// The handle of the current device `index`, shared by all that use it: it may be used from several threads
/// at once, and closing one waits for the device. It closes with its last user.
std::shared_ptr<Handle> handle_of(int index) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<Handle>> handles;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Handle> handle = handles[index].lock();
  if (!handle) handles[index] = handle = std::make_shared<Handle>();
  return handle;
}

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    (cublaslt().*Destroy)(object);
  }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroyer<&CublasLt::destroy_description>>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroyer<&CublasLt::destroy_layout>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroyer<&CublasLt::destroy_preference>>;

/// The column-major product D (m x n) = op(A) op(B), op(A) being m x k and op(B) k x n, all matrices dense.
struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool transpose_a;
  bool transpose_b;
};

struct Types {
  cudaDataType_t factors;
  cudaDataType_t result;
  cublasComputeType_t compute;
};

Types types_of(core::Precision precision, bool fp32_result) {
  switch (precision) {
    case core::Precision::fp16:
      return {CUDA_R_16F, fp32_result ? CUDA_R_32F : CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case core::Precision::bf16:
      return {CUDA_R_16BF, fp32_result ? CUDA_R_32F : CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case core::Precision::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublaslt().create_layout(&layout, type, static_cast<std::uint64_t>(rows),
                                 static_cast<std::uint64_t>(columns), rows),
        "describing a matrix");
  return Layout(layout);
}

template <class Value>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublaslt().set_description(description.get(), attribute, &value, sizeof value),
        "describing a product");
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublaslt().set_preference(preference.get(), attribute, &value, sizeof value),
        "describing what to prefer");
}

Preference make_preference() {
  cublasLtMatmulPreference_t created = nullptr;
  check(cublaslt().create_preference(&created), "describing what to prefer");
  Preference preference(created);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{kWorkspace});
  // Partial sums kept apart and added in a step of their own; no splitting of sums is always allowed.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, kAlignment);
  }
  return preference;
}

/// The product of one op instance, with each of the epilogues that its calls may ask for.
class Matmul final : public Prepared {
 public:
  /// `epilogues`: one for each number of other ops that a call covers, from 0. `what` names the instance in
  /// errors.
  Matmul(std::shared_ptr<Handle> handle, const Product& p, const Types& types,
         const std::vector<cublasLtEpilogue_t>& epilogues, const std::string& what)
      : handle_(std::move(handle)),
        a_(p.transpose_a ? make_layout(types.factors, p.k, p.m) : make_layout(types.factors, p.m, p.k)),
        b_(p.transpose_b ? make_layout(types.factors, p.n, p.k) : make_layout(types.factors, p.k, p.n)),
        d_(make_layout(types.result, p.m, p.n)) {
    for (const cublasLtEpilogue_t epilogue : epilogues) steps_.push_back(choose(p, types, epilogue, what));
  }

  /// `bias` is nullptr where the call covers none.
  void run(const OpCall& call, const void* a, const void* b, void* d, const void* bias,
           std::string_view what) {
    for (const void* operand : {a, b, const_cast<const void*>(d), bias}) {
      if (reinterpret_cast<std::uintptr_t>(operand) % kAlignment != 0) {
        throw core::Error(fmt::format("{}: operands must be aligned to {} bytes", what, kAlignment));
      }
    }
    const Step& step = steps_.at(static_cast<std::size_t>(call.shape.covered.size()));
    if (bias != nullptr) set(step.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    constexpr float kOne = 1.0f;
    constexpr float kZero = 0.0f;
    check(cublaslt().multiply(handle_->get(), step.description.get(), &kOne, a, a_.get(), b, b_.get(), &kZero,
                              d, d_.get(), d, d_.get(), &step.algorithm, call.workspace, kWorkspace,
                              core::cuda_stream(*call.stream)),
          what);
  }

 private:
  struct Step {
    Description description;
    cublasLtMatmulAlgo_t algorithm;
  };

  Step choose(const Product& p, const Types& types, cublasLtEpilogue_t epilogue, const std::string& what) {
    cublasLtMatmulDesc_t created = nullptr;
    check(cublaslt().create_description(&created, types.compute, CUDA_R_32F), "describing a product");
    Step step{Description(created), {}};
    set(step.description, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(step.description, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(step.description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
      // The heuristics read the alignment of the bias off its address; the address itself comes with the
      // call.
      set(step.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
          reinterpret_cast<const void*>(std::uintptr_t{kAlignment}));
    }
    const Preference preference = make_preference();
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        cublaslt().choose_algorithm(handle_->get(), step.description.get(), a_.get(), b_.get(), d_.get(),
                                    d_.get(), preference.get(), 1, &found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0)) {
      throw core::Error(what + ": cuBLASLt has no algorithm for it on this GPU; choose another variant");
    }
    check(status, what);
    check(found.state, what);
    step.algorithm = found.algo;
    return step;
  }

  std::shared_ptr<Handle> handle_;
  Layout a_;
  Layout b_;
  Layout d_;
  std::vector<Step> steps_;
};

/// What differs between the ops: the product, and which operands are A, B and D.
struct Mapping {
  Product (*product)(const OpShape&);
  Name a;
  Name b;
  Name d;
  bool fp32_result;
};

// y^T (O x N) = (W^T)^T x^T: row-major W (O, I) is column-major I x O.
Product forward_product(const OpShape& s) {
  return {s.out_channels, s.batch, s.in_channels, true, false};
}
// dx^T (I x N) = W^T dy^T.
Product backward_input_product(const OpShape& s) {
  return {s.in_channels, s.batch, s.out_channels, false, false};
}
// dW^T (I x O) = x^T (dy^T)^T.
Product backward_weights_product(const OpShape& s) {
  return {s.in_channels, s.out_channels, s.batch, false, true};
}

const Mapping& mapping(Op op) {
  static constexpr Mapping kForward{forward_product, Name::weights, Name::input, Name::output, false};
  static constexpr Mapping kInput{backward_input_product, Name::weights, Name::output_gradient,
                                  Name::input_gradient, false};
  static constexpr Mapping kWeights{backward_weights_product, Name::input, Name::output_gradient,
                                    Name::weights_gradient, true};
  switch (op) {
    case Op::linear_forward:
      return kForward;
    case Op::linear_backward_input:
      return kInput;
    default:
      return kWeights;
  }
}

template <Op Which, bool Fused>
std::unique_ptr<Prepared> prepare(const OpCall& call) {
  call.context->device->make_current();
  const Mapping& map = mapping(Which);
  std::vector<cublasLtEpilogue_t> epilogues{CUBLASLT_EPILOGUE_DEFAULT};
  if (Fused) epilogues.insert(epilogues.end(), {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS});
  return std::make_unique<Matmul>(handle_of(call.context->device->info().index), map.product(call.shape),
                                  types_of(call.precision, map.fp32_result), epilogues,
                                  fmt::format("{} {} in {}", to_string(Which), describe(Which, call.shape),
                                              core::to_string(call.precision)));
}

template <Op Which>
void launch(const OpCall& call) {
  const Mapping& map = mapping(Which);
  const void* bias = call.operand<const void>(Name::bias);
  static_cast<Matmul&>(*call.prepared)
      .run(call, call.operand<const void>(map.a), call.operand<const void>(map.b), call.operand<void>(map.d),
           bias, to_string(Which));
}

std::size_t workspace(const OpShape&, core::Precision) {
  return kWorkspace;
}

std::string refuses(const OpShape&) {
  return cublaslt_missing();
}

template <Op Which, bool Fused = false>
Variant cublas() {
  return cuda_variant(Which, Fused ? "cublas_fused" : "cublas", launch<Which>,
                      Fused ? "cuBLASLt with the bias and ReLU in its epilogue."
                            : "cuBLASLt: the algorithm that its heuristics rank first.",
                      {.precisions = {core::Precision::fp32, core::Precision::tf32, core::Precision::fp16,
                                      core::Precision::bf16},
                       .library = true,
                       .chain = Fused ? bias_and_relu_after(Which) : std::vector<Link>{},
                       .presets = {{"cudnn"}},
                       .workspace_bytes = workspace,
                       .refuses = refuses,
                       .prepare = prepare<Which, Fused>});
}

}  // namespace

Variant cublas_forward() {
  return cublas<Op::linear_forward>();
}
Variant cublas_fused_forward() {
  return cublas<Op::linear_forward, true>();
}
Variant cublas_backward_input() {
  return cublas<Op::linear_backward_input>();
}
Variant cublas_backward_weights() {
  return cublas<Op::linear_backward_weights>();
}

}  // namespace warpscope::ops::linear

#endif  // WARPSCOPE_HAVE_CUBLAS
