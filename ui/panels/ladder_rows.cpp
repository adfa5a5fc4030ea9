#include "ui/panels/ladder_rows.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/ops/variant.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

/// Whether every op that has the variant "loops" runs by it, chosen or not.
bool all_loops(const plan::Selection& selection, const plan::Machine& machine) {
  const auto contracts = ops::contracts();
  return std::all_of(contracts.begin(), contracts.end(), [&](const ops::OpContract& contract) {
    const ops::Variant* loops =
        ops::find_variant(machine.variants, contract.op, core::DeviceKind::cpu, "loops");
    if (loops == nullptr) return true;
    const auto chosen = selection.variants.find(contract.op);
    if (chosen != selection.variants.end()) return chosen->second == "loops";
    return plan::automatic_variant(contract.op, machine, selection.precision) == loops;
  });
}

bool measured_alike(const training::LadderEntry& a, const training::LadderEntry& b) {
  return difference(a.speed(), b.speed()) != training::Difference::unknown;
}

/// Beyond the noise: of those that cannot be told apart from the fastest none is.
bool is_fastest(const training::LadderEntry& entry, const std::vector<training::LadderEntry>& ladder) {
  return ladder.size() > 1 &&
         std::all_of(ladder.begin(), ladder.end(), [&](const training::LadderEntry& other) {
           return &other == &entry || difference(other.speed(), entry.speed()) == training::Difference::more;
         });
}

}  // namespace

std::vector<LadderRow> ladder_rows(const std::vector<training::LadderEntry>& ladder, double loops) {
  std::vector<LadderRow> rows;
  bool same_network = true;
  for (const training::LadderEntry& entry : ladder) {
    LadderRow row;
    row.entry = &entry;
    const training::LadderEntry& first = ladder.front();
    same_network = same_network && (&entry == &first || !entry.other_network);
    if (same_network && (&entry == &first ? entry.images_per_second > 0 : measured_alike(first, entry)))
      row.over_first = entry.images_per_second / first.images_per_second;
    row.noise = row.over_first > 0 && difference(first.speed(), entry.speed()) == training::Difference::noise;
    if (loops > 0 && entry.timed >= training::kEnoughSamples)
      row.over_loops = entry.images_per_second / loops;
    row.best = is_fastest(entry, ladder);
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

double loops_speed(const std::vector<training::LadderEntry>& ladder, const plan::Machine& machine) {
  if (machine.device.kind != core::DeviceKind::cpu) return 0;
  for (const training::LadderEntry& entry : ladder) {
    if (entry.selection.precision == core::Precision::fp32 && all_loops(entry.selection, machine) &&
        entry.images_per_second > 0) {
      return entry.images_per_second;
    }
  }
  return 0;
}

}  // namespace warpscope::ui
