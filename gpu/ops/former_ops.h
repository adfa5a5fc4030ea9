#pragma once
// Operations that files of before name and that are no operations any more: calls of others that cover
// several.

#include <optional>
#include <string_view>

#include "gpu/ops/op.h"

namespace warpscope::ops {

/// What a former operation is now.
struct FormerOp {
  Op op{};
  OpSet covers;  ///< what each of its calls covered
  // What a call covered too, by the flags that its shape had.
  std::optional<Op> upsample = {};
  std::optional<Op> relu = {};
  std::optional<Op> pool = {};
  std::optional<Op> masked = {};
};

/// The operation that was called `name` ("block.forward"), or nothing.
std::optional<FormerOp> former_op(std::string_view name);

/// The flags that shapes of former operations had beside the numbers.
struct FormerFlags {
  bool upsample = false;
  bool relu = false;
  bool pool = false;
  bool masked = false;
};

/// The shape that a call has now, from that of before, whose height and width were those before upsampling.
OpShape shape_now(const FormerOp& former, OpShape shape, const FormerFlags& flags);

}  // namespace warpscope::ops
