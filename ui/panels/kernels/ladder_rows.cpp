#include "ui/panels/kernels/ladder_rows.h"

#include <algorithm>
#include <span>

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

using training::Control;
using training::LadderEntry;
using Rungs = std::span<const LadderEntry>;

/// The rungs of one network: from `at` to the next with another one.
Rungs one_network(const std::vector<LadderEntry>& ladder, std::size_t at) {
  std::size_t first = at, end = at + 1;
  while (first > 0 && !ladder[first].other_network) --first;
  while (end < ladder.size() && !ladder[end].other_network) ++end;
  return Rungs(ladder).subspan(first, end - first);
}

/// The control of two rungs, by what each tells of the first of the ladder.
Control between(const LadderEntry& a, const LadderEntry& b, const LadderEntry& first) {
  if (&a == &first) return b.over_first;
  if (&b == &first) return a.over_first;
  if (!(a.over_first.before > 0) || !(b.over_first.before > 0)) return {};
  // What a did to those ops and what b did to those: in units of the first.
  const double scale = a.over_first.before;
  return {a.over_first.now, scale * b.over_first.now / b.over_first.before,
          std::min(a.over_first.samples, b.over_first.samples)};
}

/// Beyond the noise: of those that cannot be told apart from the fastest none is.
bool is_fastest(const LadderEntry& entry, Rungs rungs, const LadderEntry& first) {
  return rungs.size() > 1 && std::all_of(rungs.begin(), rungs.end(), [&](const LadderEntry& other) {
           return &other == &entry ||
                  compare(other.speed(), entry.speed(), between(other, entry, first)).difference ==
                      training::Difference::more;
         });
}

void compare_with_first(LadderRow& row, const LadderEntry& first) {
  const LadderEntry& entry = *row.entry;
  if (&entry == &first) {
    row.over_first = entry.images_per_second > 0 ? 1 : 0;
    return;
  }
  const training::Compared compared = compare(first.speed(), entry.speed(), entry.over_first);
  row.first_tip = doubt_text(compared.doubt, first.speed(), entry.speed(), entry.over_first, "steps");
  if (compared.doubt != training::Doubt::none) return;
  row.over_first = entry.images_per_second / first.images_per_second;
  row.noise = compared.difference == training::Difference::noise;
  if (row.noise) row.first_tip = "Within the noise: the speeds of their steps spread more.";
}

}  // namespace

std::vector<LadderRow> ladder_rows(const std::vector<training::LadderEntry>& ladder, double loops) {
  std::vector<LadderRow> rows;
  for (std::size_t i = 0; i < ladder.size(); ++i) {
    const LadderEntry &entry = ladder[i], &first = ladder.front();
    const Rungs rungs = one_network(ladder, i);
    LadderRow row;
    row.entry = &entry;
    if (&rungs.front() == &first) {
      compare_with_first(row, first);
    } else {
      row.first_tip = "Not compared: another network.";
    }
    if (loops > 0 && entry.timed >= training::kEnoughSamples)
      row.over_loops = entry.images_per_second / loops;
    row.best = is_fastest(entry, rungs, first);
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
