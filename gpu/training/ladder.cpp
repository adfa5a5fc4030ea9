#include "gpu/training/ladder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gpu/messages/running.h"
#include "gpu/plan/presets.h"

namespace warpscope::training {
namespace {

/// Drivers count on every 20 to 100 ms: less than this is not told.
constexpr double kEnergySeconds = 1;

/// The preset's label or the selection's own name, or what changed since the entry before, or "mixed".
std::string name_of(const plan::Selection& selection, const plan::Machine& machine, const LadderEntry* before,
                    const std::vector<OpTiming>& timings) {
  if (std::string label = plan::label_of(selection, machine); !label.empty()) return label;
  const std::string change =
      before == nullptr ? "" : plan::describe_change(before->selection, selection, machine);
  return change.empty() ? "mixed" : with_covered(change, timings);
}

}  // namespace

void Ladder::choose(const plan::Selection& selection, int batch, std::uint64_t step,
                    const plan::Machine& machine, const std::vector<OpTiming>& timings,
                    std::size_t plan_bytes) {
  if (!entries_.empty()) settle(entries_.back());
  if (!entries_.empty() && entries_.back().steps == 0) {
    other_network_ = other_network_ || entries_.back().other_network;
    pop();
  }
  const LadderEntry* const last = entries_.empty() ? nullptr : &entries_.back();
  const bool other_network = std::exchange(other_network_, false) && last != nullptr;
  const std::string kernel = std::exchange(other_kernel_, {});
  if (last != nullptr && !other_network && kernel.empty() && last->selection == selection &&
      last->batch == batch)
    return;
  LadderEntry entry;
  entry.selection = selection;
  entry.name = name_of(selection, machine, last, timings);
  if (other_network) entry.name += "; network changed";
  if (!kernel.empty())
    entry.name = entry.name == "mixed" ? kernel : fmt::format("{}; {}", entry.name, kernel);
  entry.batch = batch;
  entry.first_step = step;
  entry.plan_bytes = plan_bytes;
  entry.other_network = other_network;
  push(std::move(entry));
  speeds_ = {};
  sample_ = {};
  joules_ = energy_images_ = energy_seconds_ = 0;
}

void Ladder::push(LadderEntry entry) {
  constexpr std::size_t kWithTimes = 3;
  entries_.push_back(std::move(entry));
  times_.emplace_back();
  if (entries_.size() > kMost) {
    entries_.erase(entries_.begin() + 1);
    times_.erase(times_.begin() + 1);
  }
  if (times_.size() > kWithTimes + 1) times_[times_.size() - kWithTimes - 1] = {};
}

void Ladder::pop() {
  entries_.pop_back();
  times_.pop_back();
}

void Ladder::Times::add(const std::vector<OpTimes>& newest) {
  const bool same = std::equal(kept_.begin(), kept_.end(), newest.begin(), newest.end(),
                               [](const OpTimes& a, const OpTimes& b) { return a.ran == b.ran; });
  if (!same) {
    *this = {};
    for (const OpTimes& op : newest) kept_.push_back({op.ran, {}});
  }
  if (seen_++ % distance_ != 0) return;
  for (std::size_t op = 0; op < kept_.size(); ++op) kept_[op].times.push_back(newest[op].times.back());
  if (kept_.empty() || kept_.front().times.size() < kMost) return;
  for (OpTimes& op : kept_) {
    for (std::size_t i = 0; i < kMost / 2; ++i) op.times[i] = op.times[2 * i];
    op.times.resize(kMost / 2);
  }
  distance_ *= 2;
}

void Ladder::Sample::add(float value) {
  if (seen_++ % distance_ != 0) return;
  kept_.push_back(value);
  if (kept_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
  kept_.resize(kMost / 2);
  distance_ *= 2;
}

double Ladder::Sample::spread() const {
  if (kept_.empty()) return 0;
  std::vector<float> sorted = kept_;
  const auto quarter = static_cast<std::ptrdiff_t>(sorted.size() / 4);
  std::nth_element(sorted.begin(), sorted.begin() + quarter, sorted.end());
  const float low = sorted[static_cast<std::size_t>(quarter)];
  std::nth_element(sorted.begin(), sorted.end() - 1 - quarter, sorted.end());
  return static_cast<double>(*(sorted.end() - 1 - quarter) - low);
}

void Ladder::settle(LadderEntry& last) const {
  last.timed = speeds_.size();
  if (last.timed == 0) return;
  last.images_per_second = speeds_.value();
  last.spread = sample_.spread();
  if (times_.size() < 2) return;
  last.over_first = control_of(times_.front().kept(), times_.back().kept());
  last.over_before = control_of(times_[times_.size() - 2].kept(), times_.back().kept());
}

void Ladder::add(double images_per_second) {
  if (entries_.empty()) return;
  ++entries_.back().steps;
  if (images_per_second <= 0) return;
  speeds_.add(static_cast<float>(images_per_second));
  sample_.add(static_cast<float>(images_per_second));
}

void Ladder::add_times(const std::vector<OpTimes>& newest) {
  if (!times_.empty()) times_.back().add(newest);
}

void Ladder::add_energy(double joules, double images, double seconds) {
  if (entries_.empty() || joules <= 0) return;
  joules_ += joules;
  energy_images_ += images;
  energy_seconds_ += seconds;
  if (energy_seconds_ >= kEnergySeconds && energy_images_ > 0) {
    entries_.back().joules_per_image = joules_ / energy_images_;
  }
}

std::shared_ptr<const std::vector<LadderEntry>> Ladder::entries() const {
  auto result = std::make_shared<std::vector<LadderEntry>>(entries_);
  if (!result->empty()) settle(result->back());
  return result;
}

}  // namespace warpscope::training
