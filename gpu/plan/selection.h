#pragma once
// Which variant each op uses, and the precision: plain data, comparable, printable, parsed from text.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/core/types.h"
#include "gpu/ops/op.h"
#include "gpu/ops/variant.h"

namespace warpscope::plan {

struct Selection {
  core::Precision precision = core::Precision::fp32;
  std::map<ops::Op, std::string> variants;

  bool operator==(const Selection&) const = default;
};

/// The precisions that a person can choose in which `device` can train: it has variants of layers, gradients and updates.
std::vector<core::Precision> training_precisions(const core::DeviceInfo& device);

/// Throws core::BadInput that names the device and its precisions if `precision` is none of them.
void check_precision(const core::DeviceInfo& device, core::Precision precision);

/// For every op the last variant in the table that runs on `device` in `precision`; a library's only where there is no other,
/// a placeholder only where the chosen variants absorb it. An op with none is left out: building a plan that needs it then
/// says so.
Selection default_selection(const core::DeviceInfo& device, core::Precision precision);

/// `selection` in another precision: each op keeps its variant where that runs in `precision`, and takes the default one
/// where it does not. The default selection becomes the default one of `precision`.
Selection with_precision(const Selection& selection, core::Precision precision,
                         const core::DeviceInfo& device);

/// The variant of `selection` that runs `op` inside itself ("mma" of conv2d.backward_weights), or nullptr.
const ops::Variant* absorber(const Selection& selection, ops::Op op, core::DeviceKind device);

/// Whether plans of `selection` run blocks instead of single layers.
bool uses_blocks(const Selection& selection, core::DeviceKind device);

/// Whether `op` is one of the single layers' ops that a block does by itself: those of convolutions, biases, ReLUs, pooling
/// and upsampling. Within blocks their variants are not seen.
bool blocks_contain(ops::Op op);

/// What a choice of a single layer's op that blocks contain does to the block ops.
enum class BlockRule : std::uint8_t {
  layers_end_blocks,  ///< they become `parts`, so that what was chosen runs
  keep_blocks,        ///< nothing: for models without blocks, or where block variants were asked for by name
};

/// Sets one op's variant and what must go with it: the three block ops are `parts` together or none is; placeholders that
/// nothing absorbs any more are replaced.
void choose(Selection& selection, ops::Op op, std::string_view variant, const core::DeviceInfo& device,
            BlockRule rule = BlockRule::layers_end_blocks);

/// Replaces placeholders that nothing in `selection` absorbs by the default variants of their ops.
void settle_placeholders(Selection& selection, const core::DeviceInfo& device);

/// Changes `selection` by "conv2d.forward=naive,conv2d.backward_weights=implicit_gemm". "all=naive" sets
/// every op that has a variant of that name on `device`, "preset=tensor_cores" what plan::preset_selection gives; later items
/// win. Items that name a variant of a block op other than `parts` keep the blocks, whatever other items choose for single
/// layers. Throws core::BadInput that lists the valid names; `selection` is then unchanged.
void apply(Selection& selection, std::string_view text, const core::DeviceInfo& device,
           BlockRule rule = BlockRule::layers_end_blocks);

/// What apply() makes `selection` of the default one of its precision, as short as can be:
/// "conv2d.forward=naive,conv2d.backward_weights=implicit_gemm", or "".
std::string selection_text(const Selection& selection, const core::DeviceInfo& device);

/// "fp32 batch.gather=naive,conv2d.forward=implicit_gemm,..."
std::string to_string(const Selection& selection);

/// "fp32 -> bf16; conv2d.forward: naive -> implicit_gemm", for markers; "" if they are equal. Blocks that end are one item:
/// "block.*: hopper -> parts, layers run one by one".
std::string describe_change(const Selection& from, const Selection& to);

/// Every name that some op has on `device`, in table order: what "all=" takes.
std::vector<std::string> variant_names(core::DeviceKind device);

}  // namespace warpscope::plan
