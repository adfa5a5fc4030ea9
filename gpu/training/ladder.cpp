#include "gpu/training/ladder.h"

#include <algorithm>
#include <utility>

#include "gpu/messages/running.h"
#include "gpu/plan/presets.h"

namespace warpscope::training {
namespace {

/// Drivers count on every 20 to 100 ms: less than this is not told.
constexpr double kEnergySeconds = 1;

/// The preset's label or the selection's own name, or what changed since the entry before, or "mixed".
std::string name_of(const plan::Selection& selection, const core::DeviceInfo& device,
                    const LadderEntry* before, const std::vector<OpTiming>& timings) {
  if (std::string label = plan::label_of(selection, device); !label.empty()) return label;
  const std::string change =
      before == nullptr ? "" : plan::describe_change(before->selection, selection, device);
  return change.empty() ? "mixed" : with_covered(change, timings);
}

double median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

}  // namespace

void Ladder::choose(const plan::Selection& selection, int batch, std::uint64_t step,
                    const core::DeviceInfo& device, const std::vector<OpTiming>& timings,
                    std::size_t plan_bytes) {
  settle();
  if (!entries_.empty() && entries_.back().steps == 0) {
    other_network_ = other_network_ || began_with_network_;
    entries_.pop_back();
  }
  const LadderEntry* const last = entries_.empty() ? nullptr : &entries_.back();
  began_with_network_ = std::exchange(other_network_, false) && last != nullptr;
  if (last != nullptr && !began_with_network_ && last->selection == selection && last->batch == batch) return;
  std::string name = name_of(selection, device, last, timings);
  if (began_with_network_) name += "; network changed";
  entries_.push_back({selection, std::move(name), batch, step, 0, 0.0, plan_bytes, 0.0});
  if (entries_.size() > kMost) entries_.erase(entries_.begin() + 1);
  recent_.clear();
  next_ = 0;
  joules_ = energy_images_ = energy_seconds_ = 0;
}

/// The last entry's median, before another comes.
void Ladder::settle() {
  if (!recent_.empty()) entries_.back().images_per_second = median(recent_);
}

void Ladder::add(double images_per_second) {
  if (entries_.empty()) return;
  ++entries_.back().steps;
  if (images_per_second <= 0) return;
  const auto speed = static_cast<float>(images_per_second);
  if (recent_.size() < kWindow) {
    recent_.push_back(speed);
  } else {
    recent_[next_] = speed;
    next_ = (next_ + 1) % kWindow;
  }
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
  if (!recent_.empty()) result->back().images_per_second = median(recent_);
  return result;
}

}  // namespace warpscope::training
