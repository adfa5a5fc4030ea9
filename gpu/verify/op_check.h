#pragma once
// Holds a variant of any op against the double-precision reference, from the op's contract alone.
//
//   verify::Check check = verify::check_variant(variant, device, shape, precision, seed);
//   EXPECT_EQ(check.failure, "");
//
// The reference is given the same inputs, rounded to the precision and widened to double, so that the error measured is
// that of the variant's arithmetic and of rounding its output. A fused call is held against the chain of references.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/ops/variant.h"
#include "gpu/verify/op_run.h"
#include "gpu/verify/operands.h"

namespace warpscope::verify {

/// The result of the fp64 reference on the CPU, as operands in fp64. Throws core::Error if the op has no reference.
Operands run_reference(ops::Op op, const ops::OpShape& shape, const Operands& before_fp64);

/// The same of `op` and the ops `absorbed` after it: the output is the last one's, as a fused call leaves it.
Operands run_reference(ops::Op op, const ops::OpShape& shape, std::span<const ops::Op> absorbed,
                       const Operands& before_fp64);

/// Inputs and what must come of them. The same for every variant of the op that stores its operands alike.
struct Case {
  ops::Op op{};
  ops::OpShape shape;
  std::vector<ops::Op> absorbed;
  Operands before;    ///< in the precision's storage types
  Operands expected;  ///< in fp64; empty where the op only reads
  /// The norm that the op's own output has on average over the signs of its products, sqrt(sum of their squares). A few
  /// outputs may cancel by chance, or be cut by a ReLU; the rounding errors in them do not shrink with them, so errors are
  /// measured against no less than this. 0 with many outputs, whose norm is near it anyway, and for other ops.
  double usual_norm = 0;
};

Case make_case(ops::Op op, const ops::OpShape& shape, std::span<const ops::Op> absorbed,
               core::Precision precision, std::uint64_t seed);

/// What a check found.
struct Check {
  double worst_error = 0;     ///< largest relative error of a floating-point operand
  double tolerance = 0;       ///< what it may be
  std::int64_t terms = 0;     ///< the length of the sum that the tolerance follows from
  bool same_bits = true;      ///< a second run gave the same bits
  std::size_t workspace = 0;  ///< bytes
  std::string failure;  ///< "" if all is well; else what is wrong, with the op, the variant and the shape
};

/// Runs `variant` on `tested` (made in a precision of the same storage types) and checks: floating operands within
/// ops::tolerance() of the reference, or not finite where it is not; all others equal to it (but for the time that
/// step.record notes, which must only be there); operands that are read unchanged; guards untouched; the same bits from a second run if the variant says that it
/// is deterministic; all of this in place too, where the contract allows it.
Check check_case(const ops::Variant& variant, const std::shared_ptr<core::Device>& device,
                 core::Precision precision, const Case& tested);

/// check_case() on random operands: alone and, for a fused variant, with each number of ops that it absorbs.
Check check_variant(const ops::Variant& variant, const std::shared_ptr<core::Device>& device,
                    const ops::OpShape& shape, core::Precision precision, std::uint64_t seed);

/// The worse of two checks, measured by their tolerances; the first failure is kept.
Check worse(const Check& first, const Check& second);

}  // namespace warpscope::verify
