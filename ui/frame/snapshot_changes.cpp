#include "ui/frame/snapshot_changes.h"

#include <algorithm>

namespace warpscope::ui {
namespace {

double newest_speed(const training::Snapshot& snapshot) {
  return snapshot.ladder->empty() ? 0 : snapshot.ladder->back().images_per_second;
}

bool ranks_differ(const training::Snapshot& a, const training::Snapshot& b) {
  const auto same = [](const training::RankFigures& one, const training::RankFigures& other) {
    return one.images == other.images && one.step_microseconds == other.step_microseconds &&
           one.allreduce_microseconds == other.allreduce_microseconds && one.device == other.device &&
           one.newest == other.newest && one.links == other.links;
  };
  return a.awaited != b.awaited ||
         !std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same);
}

bool settings_differ(const training::Snapshot& a, const training::Snapshot& b) {
  return (a.settings != b.settings && !(*a.settings == *b.settings)) || !(a.selection == b.selection) ||
         a.plan_bytes != b.plan_bytes || a.total_epochs != b.total_epochs ||
         a.steps_planned != b.steps_planned;
}

bool results_differ(const training::Snapshot& a, const training::Snapshot& b) {
  return a.step != b.step || a.generation != b.generation || a.evaluation != b.evaluation ||
         (a.moments != b.moments && *a.moments != *b.moments) || !(a.rewind == b.rewind) ||
         !(a.aside == b.aside) || a.training != b.training ||
         (a.left != b.left && a.left->size() != b.left->size()) || a.determinism != b.determinism ||
         a.rate_search != b.rate_search || a.checkpoint_step != b.checkpoint_step ||
         a.step_microseconds != b.step_microseconds || a.ladder->size() != b.ladder->size() ||
         newest_speed(a) != newest_speed(b);
}

bool kernels_differ(const training::UserKernels& a, const training::UserKernels& b) {
  const auto none = [](const training::UserKernels& all) {
    return all.kernels.empty() && all.folders.empty();
  };
  return a.why_not != b.why_not || (&a != &b && !(none(a) && none(b)));
}

}  // namespace

bool looks_different(const training::Snapshot& a, const training::Snapshot& b) {
  return a.state != b.state || a.notice_id != b.notice_id || a.divergence.id != b.divergence.id ||
         a.can != b.can || a.revival != b.revival || a.run_dir != b.run_dir || a.data != b.data ||
         a.data_name != b.data_name || a.device.name != b.device.name || a.model != b.model ||
         a.network_number != b.network_number || settings_differ(a, b) || results_differ(a, b) ||
         ranks_differ(a, b) || kernels_differ(*a.user_kernels, *b.user_kernels);
}

}  // namespace warpscope::ui
