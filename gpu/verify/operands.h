#pragma once
// The operands of a call on the host: which there are, random ones, and the same in another precision. All
// are as the contracts say; formats of a variant's own are packed and unpacked where it runs (op_run.h).

#include <cstdint>
#include <vector>

#include "gpu/ops/variant.h"
#include "gpu/verify/host_values.h"

namespace warpscope::verify {

/// The op by itself, without an implementation: of it operands can be asked as of a variant.
ops::Variant alone(ops::Op op);

/// ops::operands_of() without formats: as the contracts say.
std::vector<ops::CallOperand> plain_operands(const ops::Variant& variant, const ops::OpShape& shape);

/// Those of `operands`, which go by the names of the call, that one of the ops it covers has, by its own
/// names.
Operands operands_of_covered(const ops::Variant& variant, const ops::OpShape& shape,
                             const ops::CoveredOp& covered, const Operands& operands);

/// Random operands of a call, the same for the same seed, in the storage types of `precision`. Each is drawn
/// by its role; then each op that the call covers makes those fit that it reads (OpTests::fit).
Operands random_operands(const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision,
                         std::uint64_t seed);
Operands random_operands(ops::Op op, const ops::OpShape& shape, core::Precision precision,
                         std::uint64_t seed);

/// The same operands in another precision: numbers converted, bytes, indices and control blocks as they are.
Operands convert(const ops::Variant& variant, const ops::OpShape& shape, const Operands& operands,
                 core::Precision from, core::Precision to);
Operands convert(ops::Op op, const Operands& operands, core::Precision from, core::Precision to);

/// The values of the operand `name` of `op`.
std::vector<double> operand_values(ops::Op op, const Operands& operands, ops::Name name,
                                   core::Precision precision);

/// Floating-point operands, which are compared by their values; the others are compared by their bytes.
bool is_number(ops::Role role);

}  // namespace warpscope::verify
