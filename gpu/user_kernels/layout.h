#pragma once
// By which indices a person names an element of an operand: found only from the contract of its op, by asking it for
// the operand's elements on a few shapes. Row-major, the last index the fastest; images as batch, rows, columns,
// channels, weights as outputs, rows, columns, inputs.

#include <cstdint>
#include <string_view>
#include <vector>

#include "assets/kernels/warpscope/kernel.h"
#include "gpu/user_kernels/task.h"

namespace warpscope::user_kernels {

/// What an index of an operand runs over.
struct Extent {
  std::string_view name;    ///< "output_height"
  std::string_view letter;  ///< of the index, as formulas name it: "i"
  std::int64_t (*of)(const ops::OpShape& shape);
};

struct OperandLayout {
  ops::Operand operand;  ///< of a chain: by its name in the call, and no function that tells its elements
  std::vector<const Extent*> extents;  ///< none: one number
  bool known = true;                   ///< false: no such product of extents; it has one index
};

/// The layouts of the operands of a call of `task`, in the order of its contracts. Throws std::logic_error where an
/// operand of a chain has none.
std::vector<OperandLayout> layouts_of(const Task& task);

/// How many values each index has in a call of `shape`; at least one.
std::vector<std::int64_t> extents_of(const OperandLayout& layout, const ops::OpShape& shape);

/// The sizes of shapes (shape_sizes.h) that change the extents of some operand of `op`, by name.
std::vector<std::string_view> sizes_read(ops::Op op);

/// A call of an op as a user's kernel takes it, but for where its operands lie.
kernel::RawCall raw_call(const std::vector<OperandLayout>& layouts, const ops::OpShape& shape);

/// Why no kernel of a user's can compute `task`, or "".
std::string_view no_user_kernels(const Task& task);

}  // namespace warpscope::user_kernels
