#pragma once
// The one table of names of ops and variants that only files of before have. What selections said with them
// is read in plan/former_names.h, and how they stood in status.json in runs/former_status.h.

#include <optional>
#include <span>
#include <string_view>

#include "gpu/ops/op.h"

namespace warpscope::ops {

/// An operation that is none any more: now calls of another that cover several.
struct FormerOp {
  std::string_view name;  ///< "block.forward"
  Op op{};
  OpSet covers;  ///< what each of its calls covered
  // What a call covered too, by the flags that its shape had.
  std::optional<Op> upsample = {};
  std::optional<Op> relu = {};
  std::optional<Op> pool = {};
  std::optional<Op> masked = {};
};

std::span<const FormerOp> former_ops();

/// The operation that was called `name` ("block.forward"), or nothing.
std::optional<FormerOp> former_op(std::string_view name);

/// All ops that calls of `former` could stand for: their variants were not seen.
OpSet hidden_by(const FormerOp& former);

/// What the variant `name` is called now: "mma" for "wmma"; others keep their names.
std::string_view variant_now(std::string_view name);

/// The flags that shapes of former operations had beside the numbers.
struct FormerFlags {
  bool upsample = false;
  bool relu = false;
  bool pool = false;
  bool masked = false;
};

/// The shape that a call has now, from that of before, whose height and width were those before upsampling.
OpShape shape_now(const FormerOp& former, OpShape shape, const FormerFlags& flags);

/// The shape that a call of `op` has now: pooling had no window, which was 2x2.
OpShape shape_now(Op op, OpShape shape);

}  // namespace warpscope::ops
