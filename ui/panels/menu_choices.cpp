#include "ui/panels/menu_choices.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "gpu/profiling/bench.h"

namespace warpscope::ui {
namespace {

bool absorbs(const ops::Variant& variant, ops::Op op) {
  return std::find(variant.fuses.begin(), variant.fuses.end(), op) != variant.fuses.end();
}

// "conv2d.backward_weights = mma or implicit_gemm": what would absorb `op` here; "" if nothing would.
std::string absorbers_of(ops::Op op, const core::DeviceInfo& device, core::Precision precision) {
  std::string text;
  ops::Op last{};
  for (const ops::Variant& variant : ops::variants()) {
    if (!absorbs(variant, op) || !ops::unavailable_reason(variant, device, precision).empty()) continue;
    if (text.empty()) {
      text = fmt::format("{} = {}", ops::to_string(variant.op), variant.name);
    } else if (variant.op == last) {
      text += " or " + variant.name;
    } else {
      text += fmt::format(", or {} = {}", ops::to_string(variant.op), variant.name);
    }
    last = variant.op;
  }
  return text;
}

}  // namespace

std::string variant_refusal(const ops::Variant& variant, const core::DeviceInfo& device,
                            const plan::Selection& selection,
                            std::span<const training::OpTiming* const> layers) {
  std::string everywhere = ops::unavailable_reason(variant, device, selection.precision);
  if (!everywhere.empty()) return everywhere;
  for (const training::OpTiming* layer : layers) {
    std::string reason = ops::unavailable_reason(variant, device, selection.precision, &layer->shape);
    if (!reason.empty()) return reason;
  }
  if (ops::is_block(variant.op)) return {};  // its placeholder means the single layers
  if (variant.launch != nullptr || plan::absorber(selection, variant.op, device.kind) != nullptr) return {};
  const std::string absorbers = absorbers_of(variant.op, device, selection.precision);
  if (!absorbers.empty()) return "needs " + absorbers;
  return fmt::format("nothing here covers it in {}", core::to_string(selection.precision));
}

plan::Selection with_variant(const plan::Selection& selection, ops::Op op, const std::string& name,
                             const core::DeviceInfo& device, bool blocks_run) {
  plan::Selection changed = selection;
  plan::choose(changed, op, name, device,
               blocks_run ? plan::BlockRule::layers_end_blocks : plan::BlockRule::keep_blocks);
  return changed;
}

bool blocks_run(std::span<const training::OpTiming> timings) {
  return std::any_of(timings.begin(), timings.end(),
                     [](const auto& timing) { return ops::is_block(timing.op); });
}

bool ends_blocks(const plan::Selection& selection, ops::Op op, core::DeviceKind device, bool blocks_run) {
  return blocks_run && plan::blocks_contain(op) && plan::uses_blocks(selection, device);
}

std::string fastest_here_refusal(const profiling::LaboratoryState& laboratory, core::Precision precision,
                                 int batch) {
  if (laboratory.running == profiling::Job::bench) return "being measured: Laboratory, Bench";
  const bool measured = std::any_of(laboratory.bench.begin(), laboratory.bench.end(), [&](const auto& row) {
    return row.precision == precision && row.skipped.empty() && row.samples > 0;
  });
  if (!measured) return "measure first: Laboratory, Bench";
  if (laboratory.bench_batch != batch) {
    return fmt::format("measured at batch {}, this is {}: measure again", laboratory.bench_batch, batch);
  }
  return {};
}

plan::Selection fastest_here(const profiling::LaboratoryState& laboratory, const plan::Selection& selection,
                             const core::DeviceInfo& device) {
  plan::Selection fastest =
      profiling::fastest_of(laboratory.bench, selection.precision, device.kind, selection);
  plan::settle_placeholders(fastest, device);
  return fastest;
}

std::string variant_tip(const ops::Variant& variant, bool ends_blocks) {
  std::string tip = variant.summary;
  if (variant.library) tip = "library: " + tip;
  if (!variant.deterministic) tip += " Not deterministic: two runs differ in the last bits.";
  if (ends_blocks) tip += " Ends the blocks: block.* become parts, so that every layer runs by itself.";
  return tip;
}

}  // namespace warpscope::ui
