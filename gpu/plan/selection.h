#pragma once
// Which variants were chosen, and the precision: plain data, comparable, printable, parsed from text.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/ops/op.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {

/// What was chosen. An op that is not named runs by the best variant that fits where it stands, if need be
/// inside the call of another op's variant; a named one runs by itself (cover.h).
struct Selection {
  core::Precision precision = core::Precision::fp32;
  std::map<ops::Op, std::string> variants;

  bool operator==(const Selection&) const = default;
};

/// What a selection chooses for: a device, and the variants that there are. A view of both.
struct Machine {
  Machine(const core::DeviceInfo& on, const ops::VariantTable& from = *ops::built_in_variants())
      : device(on), variants(from) {}
  Machine(const ops::Context& context) : Machine(context.device->info(), *context.variants) {}

  const core::DeviceInfo& device;
  const ops::VariantTable& variants;
};

/// The precisions that a person can choose in which `machine` can train: what has variants there in FP32 has
/// them in these.
std::vector<core::Precision> training_precisions(const Machine& machine);

/// Throws core::BadInput that names the device and its precisions if `precision` is none of them.
void check_precision(const Machine& machine, core::Precision precision);

/// The variant that `op` runs by if none is chosen and nothing stands in the way: the last in the table that
/// runs on `machine` in `precision`, a library's only where there is no other; nullptr if there is none.
const ops::Variant* automatic_variant(ops::Op op, const Machine& machine, core::Precision precision);

/// `selection` in another precision: choices that do not run in it are taken back.
Selection with_precision(const Selection& selection, core::Precision precision, const Machine& machine);

/// Changes `selection` by "conv2d.forward=naive,conv2d.backward_weights=implicit_gemm".
/// "conv2d.forward=automatic" takes a choice back, "all=naive" sets every op that has a variant of that name
/// on `machine`, "preset=tensor_cores" what plan::preset_selection gives; later items win.
/// Throws core::BadInput that lists the valid names, or names what is listed twice; `selection` is then unchanged.
void apply(Selection& selection, std::string_view text, const Machine& machine);

/// What apply() makes `selection` of an empty one:
/// "conv2d.forward=naive,conv2d.backward_weights=implicit_gemm", or "".
std::string selection_text(const Selection& selection);

/// "fp32 conv2d.forward=implicit_gemm,...", "fp32 automatic"
std::string to_string(const Selection& selection);

/// "fp32 -> bf16; conv2d.forward: naive -> implicit_gemm", for markers; "" if they are equal. Where nothing
/// is chosen the automatic variant is named.
std::string describe_change(const Selection& from, const Selection& to, const Machine& machine);

/// Every name that some op has on `machine`, in table order: what "all=" takes.
std::vector<std::string> variant_names(const Machine& machine);

/// What stands for no choice where a variant is named.
inline constexpr std::string_view kAutomatic = "automatic";

}  // namespace warpscope::plan
