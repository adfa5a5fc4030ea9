#include "ui/panels/ladder_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/ops/variant.h"
#include "ui/numbers.h"

namespace warpscope::ui {
namespace {

/// Whether every op that has the variant "loops" runs by it, chosen or not.
bool all_loops(const plan::Selection& selection, const core::DeviceInfo& device) {
  const auto contracts = ops::contracts();
  return std::all_of(contracts.begin(), contracts.end(), [&](const ops::OpContract& contract) {
    const ops::Variant* loops = ops::find_variant(contract.op, core::DeviceKind::cpu, "loops");
    if (loops == nullptr) return true;
    const auto chosen = selection.variants.find(contract.op);
    if (chosen != selection.variants.end()) return chosen->second == "loops";
    return plan::automatic_variant(contract.op, device, selection.precision) == loops;
  });
}

}  // namespace

std::vector<LadderRow> ladder_rows(const std::vector<training::LadderEntry>& ladder, double loops) {
  std::vector<LadderRow> rows;
  double best = 0;
  for (const training::LadderEntry& entry : ladder) best = std::max(best, entry.images_per_second);
  for (const training::LadderEntry& entry : ladder) {
    LadderRow row;
    row.entry = &entry;
    const double first = ladder.front().images_per_second;
    if (first > 0) row.over_first = entry.images_per_second / first;
    if (loops > 0) row.over_loops = entry.images_per_second / loops;
    row.best = best > 0 && entry.images_per_second == best;
    row.now = &entry == &ladder.back();
    rows.push_back(row);
  }
  return rows;
}

std::string ratio_text(double ratio) {
  if (!(ratio > 0)) return "\u2014";
  if (ratio < 0.0995) return fmt::format("1/{}\u00d7", with_thousands(1 / ratio, 0));
  return fmt::format("{}\u00d7", with_thousands(ratio, ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0));
}

double loops_speed(const std::vector<training::LadderEntry>& ladder, const core::DeviceInfo& device) {
  if (device.kind != core::DeviceKind::cpu) return 0;
  for (const training::LadderEntry& entry : ladder) {
    if (entry.selection.precision == core::Precision::fp32 && all_loops(entry.selection, device) &&
        entry.images_per_second > 0) {
      return entry.images_per_second;
    }
  }
  return 0;
}

}  // namespace warpscope::ui
