#pragma once
// A variant is one implementation of an op on one kind of device. Variants are listed in explicit tables
// (<op>/<op>_table.cpp); there are no self-registering globals.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/ops/op.h"

namespace warpscope::ops {

/// What a variant keeps between calls of one op instance: library primitives, chosen algorithms. Made by
/// Variant::prepare, used by one stream at a time.
class Prepared {
 public:
  virtual ~Prepared() = default;
};

/// One call of an op. Operands are in the order of the contract; in-place operands may be the same pointer.
///
/// A call that absorbs the ops after it (Variant::fuses) gets the operands of its own op and after these what the absorbed
/// ops need beside them, in their order. bias.forward: the bias, and its output in place of the op's own; relu.forward the
/// same without a bias. backward_bias: the bias gradient. linear.backward_input, absorbed by backward_weights: the weights
/// and the input gradient; relu.backward after it: its own input gradient in place of that one, and the ReLU's output.
/// labels.gather, absorbed by batch.gather: all labels and the batch's. cross_entropy.backward: the control and the gradient.
struct OpCall {
  OpShape shape;
  core::Precision precision = core::Precision::fp32;
  std::span<void* const> operands;
  int absorbed = 0;  ///< how many ops of Variant::fuses this call covers, from the first
  void* workspace =
      nullptr;  ///< Variant::workspace_bytes() bytes, 256-byte aligned; its contents are undefined
  Prepared* prepared = nullptr;
  core::Stream* stream = nullptr;

  template <class T>
  T* operand(int index) const {
    return static_cast<T*>(operands[static_cast<std::size_t>(index)]);
  }
};

/// One implementation of an op: plain data.
struct Variant {
  Op op{};
  std::string name;  ///< "implicit_gemm": unique within op and device kind
  core::DeviceKind device = core::DeviceKind::cpu;
  std::vector<core::Precision> precisions;
  int minimum_compute_capability = 0;  ///< 90 for Hopper; 0 for CPU variants
  int only_compute_capability = 0;  ///< for code of one architecture alone (sm_90a); 0: any from the minimum
  bool deterministic = true;        ///< the same bits from the same input, every time
  bool library = false;             ///< a library's kernels: the default only where we have none
  std::vector<Op> fuses = {};       ///< ops that it covers too where they follow it, in this order
  bool fuses_on_request = false;    ///< covers them only where their selected variant is a placeholder
  std::string summary;              ///< one sentence: what it adds over the variant before it

  /// Enqueues the work on call.stream. Throws core::Error that names the kernel. nullptr makes the variant a
  /// placeholder: its op must be absorbed by the variant of an op before it.
  void (*launch)(const OpCall& call) = nullptr;

  /// Scratch memory of a call; nullptr means none.
  std::size_t (*workspace_bytes)(const OpShape& shape, core::Precision precision) = nullptr;

  /// Why it does not take `shape`, in words, or "" if it does; nullptr means it takes every shape.
  std::string (*refuses)(const OpShape& shape) = nullptr;

  /// Makes what the calls of one op instance share; nullptr means nothing. Must not be called while a stream
  /// captures.
  std::unique_ptr<Prepared> (*prepare)(const OpShape& shape, core::Precision precision,
                                       core::Device& device) = nullptr;
};

/// All variants of this build: by op, then CPU before CUDA, then from the simplest to the fastest. Names are
/// unique in op and device kind (a duplicate throws std::logic_error at the first call).
std::span<const Variant> variants();

/// Variants of `op` on `device`, in table order; empty if there are none.
std::vector<const Variant*> variants_of(Op op, core::DeviceKind device);

/// The variant, or nullptr.
const Variant* find_variant(Op op, core::DeviceKind device, std::string_view name);

/// Why `variant` cannot run here ("needs compute capability 9.0, this GPU has 8.6", "not in bf16; in fp32"),
/// or "".
std::string unavailable_reason(const Variant& variant, const core::DeviceInfo& device,
                               core::Precision precision, const OpShape* shape = nullptr);

/// Bytes of workspace `variant` needs for `shape`.
std::size_t workspace_bytes(const Variant& variant, const OpShape& shape, core::Precision precision);

}  // namespace warpscope::ops
