#pragma once
// Holds a variant of any op against the double-precision reference, from nothing but the op's contract.
//
//   verify::Check check = verify::check_variant(variant, device, shape, precision, seed);
//   EXPECT_EQ(check.failure, "");
//
// The reference is given the same inputs, rounded to the precision and widened to double, so that the error
// measured is that of the variant's arithmetic and of rounding its output. A call that covers several ops is
// held against their references, run one after the other as the variant's chain declares it: nothing of its
// own is known here.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gpu/ops/variant.h"
#include "gpu/verify/op_run.h"
#include "gpu/verify/reference.h"

namespace warpscope::verify {

/// Inputs and what must come of them. The same for every variant whose calls have the same binding
/// (binding_of()) and that stores numbers alike.
struct Case {
  ops::OpShape shape;  ///< with what the call covers
  Operands before;     ///< in the precision's storage types
  /// In fp64; with what passes between covered ops, where it is needed to judge what is written.
  Operands expected;
  /// The norm that the output (output_of()) has on average over the signs of the own op's products: the root
  /// mean square of what that op gives, sqrt(sum of the squared products), times the root of the output's
  /// length. A few outputs may cancel by chance, or be cut by a ReLU; the rounding errors in them do not
  /// shrink with them, so errors are measured against no less than this. 0 with many outputs, whose norm is
  /// near it anyway, and for ops that sum no products or numbers.
  double usual_norm = 0;
};

/// A case for calls of `variant` with `shape`; its `launch` is not used.
Case make_case(const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision,
               std::uint64_t seed);

/// The element of what a call wrote that is farthest from the reference.
struct WorstElement {
  std::optional<ops::Name> operand;  ///< none: nothing is wrong, or what is wrong is no number
  std::int64_t element = 0;
  double is = 0;
  double right = 0;
  bool unwritten = false;  ///< it holds what lay there before the call
};

/// What a check found.
struct Check {
  double worst_error = 0;     ///< largest relative error of a floating-point operand
  double tolerance = 0;       ///< what it may be
  std::int64_t terms = 0;     ///< the length of the sum that the tolerance follows from
  bool same_bits = true;      ///< a second run gave the same bits
  std::size_t workspace = 0;  ///< bytes
  std::string failure;  ///< "" if all is well; else what is wrong, with the op, the variant and the shape
  WorstElement worst;   ///< of an operand whose error is more than it may be
  bool later = false;   ///< check_cases(): it is right at first
};

/// Runs `variant` on `tested` (made in a precision of the same storage types) and checks: floating operands
/// within ops::tolerance() of the reference for terms_of(), or not finite where it is not; all others equal
/// to it (but for times, which must only be there, and for choices between values that the call has computed
/// and that lie as near as rounding may move them, OpTests::accepts); operands that are read unchanged;
/// guards untouched; the same bits from a second run if the variant says that it is deterministic; all of
/// this in place too, where the contract allows it.
Check check_case(const ops::Variant& variant, const ops::Context& context, core::Precision precision,
                 const Case& tested);

/// check_case() of the first; then all of them again in the same memory, one after the other: a call whose result comes
/// from an earlier one, or from where its operands lie, is wrong there. They differ in their numbers only.
Check check_cases(const ops::Variant& variant, const ops::Context& context, core::Precision precision,
                  std::span<const Case> tested);

/// check_case() on random operands of one call.
Check check_call(const ops::Variant& variant, const ops::Context& context, const ops::OpShape& shape,
                 core::Precision precision, std::uint64_t seed);

/// check_call() with every set of ops that `variant` can cover and does not refuse, on `shape` as fitted()
/// makes it.
Check check_variant(const ops::Variant& variant, const ops::Context& context, const ops::OpShape& shape,
                    core::Precision precision, std::uint64_t seed);

/// The worse of two checks, measured by their tolerances; the first failure is kept.
Check worse(const Check& first, const Check& second);

}  // namespace warpscope::verify
