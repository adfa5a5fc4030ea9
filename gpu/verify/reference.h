#pragma once
// What a call must give: the double-precision references of the ops that it covers, one after the other.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/verify/operands.h"

namespace warpscope::verify {

/// The result of the fp64 reference on the CPU, as operands in fp64. Throws core::Error if the op has no
/// reference.
Operands run_reference(ops::Op op, const ops::OpShape& shape, const Operands& before_fp64);

/// The references of all ops that a call of `variant` covers, in the order of its chain, each operand under
/// the name that the chain gives it. What passes between the ops is among them.
Operands run_reference(const ops::Variant& variant, const ops::OpShape& shape, const Operands& before_fp64);

/// How many products are summed into one element of what the call writes, of which ops::tolerance() follows.
/// An op by itself has OpContract::terms. Where one takes what another of the call has summed, the lengths
/// multiply: each of its t terms is such a sum of s, so s t; but those of its terms that come from outside
/// the call, one for each operand of numbers that is given to it (at most t - 1), are no sums: s (t - o) + o.
/// The largest of all ops counts.
std::int64_t terms_of(const ops::Variant& variant, const ops::OpShape& shape);

/// The operand that the own op's output becomes in a call, through the ops that follow it.
ops::Name output_of(const ops::Variant& variant, const ops::OpShape& shape);

/// Why the operands of the chain do not fit each other in a call of `shape`: one op writes another number of
/// elements than another reads, or an operand is empty. "" if they do, and of an op by itself.
std::string misfit(const ops::Variant& variant, const ops::OpShape& shape);

/// Which ops a call covers and how their operands are bound: calls of two variants with the same one have the
/// same results.
std::vector<int> binding_of(const ops::Variant& variant, const ops::OpShape& shape);

}  // namespace warpscope::verify
