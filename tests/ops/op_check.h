#pragma once
// Holds a variant of any op against the double-precision reference, from the op's contract alone.
//
//   tests::Check check = tests::check_variant(variant, device, shape, precision, seed);
//   EXPECT_EQ(check.failure, "");
//
// The reference is given the same inputs, rounded to the precision and widened to double, so that the error measured is
// that of the variant's arithmetic and of rounding its output.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/variant.h"
#include "tests/ops/host_values.h"

namespace warpscope::tests {

/// The bytes of every operand of an op, in the order of its contract.
using Operands = std::vector<Bytes>;

/// Random operands of `op`, the same for the same seed: numbers standard normal and rounded to `precision`, image bytes
/// uniform, orders permutations, control blocks with positions inside the data set and a learning rate of 0.05. Where
/// operands belong together they fit: the output that relu.backward reads has exact zeros, and the argmax that
/// maxpool2d.backward reads is one that the forward reference made. Inputs of maxpool2d.forward have ties.
Operands random_operands(ops::Op op, const ops::OpShape& shape, core::Precision precision,
                         std::uint64_t seed);

/// The same operands in another precision: numbers converted, bytes, indices and control blocks as they are.
Operands convert(ops::Op op, const Operands& operands, core::Precision from, core::Precision to);

/// The values of operand `index`.
std::vector<double> operand_values(ops::Op op, const Operands& operands, int index,
                                   core::Precision precision);

/// One variant prepared for one shape, with device memory for its operands and its workspace, each piece between guards.
class OpRun {
 public:
  /// With `in_place`, operands share memory where the contract allows it.
  OpRun(const ops::Variant& variant, std::shared_ptr<core::Device> device, const ops::OpShape& shape,
        core::Precision precision, bool in_place = false);

  /// Uploads what the op reads, fills what it writes and the workspace with 0xFF (NaN in every float type), launches,
  /// downloads. Operands that are written only may be empty in `before`.
  Operands run(const Operands& before);

  /// What the last run did that it must not: "" or, for instance, "wrote before the operand 'output'".
  const std::string& fault() const { return fault_; }

 private:
  void* memory_of(std::size_t operand) const;
  bool shares(std::size_t operand) const;
  void upload(const Operands& before);
  Operands download(const Operands& before);
  Bytes download_guarded(const core::Buffer& buffer, const std::string& name);
  void note(const std::string& fault);

  ops::Variant variant_;
  std::shared_ptr<core::Device> device_;
  ops::OpShape shape_;
  core::Precision precision_;
  bool in_place_;
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<ops::Prepared> prepared_;
  std::vector<core::Buffer> buffers_;
  core::Buffer workspace_;
  std::string fault_;
};

/// The result of the fp64 reference on the CPU, as operands in fp64.
Operands run_reference(ops::Op op, const ops::OpShape& shape, const Operands& before_fp64);

/// What check_variant found.
struct Check {
  double worst_error = 0;  ///< largest relative error of a floating-point operand
  double tolerance = 0;    ///< what it may be
  std::string failure;     ///< "" if all is well; else what is wrong, with the op, the variant and the shape
};

/// Runs `variant` on random operands and checks: floating operands within ops::tolerance() of the reference, all others
/// equal to it (but for the time that step.record notes, which must only be there); operands that are read unchanged;
/// guards untouched; the same bits from a second run if the variant is deterministic; all of this in place too, where the
/// contract allows it.
Check check_variant(const ops::Variant& variant, const std::shared_ptr<core::Device>& device,
                    const ops::OpShape& shape, core::Precision precision, std::uint64_t seed);

}  // namespace warpscope::tests
