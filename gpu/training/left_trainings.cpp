#include "gpu/training/left_trainings.h"

#include <algorithm>
#include <utility>

namespace warpscope::training {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;

std::size_t bytes_of(const LeftState& left) {
  std::size_t floats = left.engine.parameters.size() + left.first_weights.size();
  for (const std::vector<float>& each : left.engine.states) floats += each.size();
  return floats * sizeof(float);
}

struct Numbered {
  std::uint64_t number = 0;
  bool operator()(const LeftState& left) const { return left.number == number; }
};

}  // namespace

void LeftTrainings::keep(LeftState left) {
  left_.push_back(std::move(left));
  std::size_t bytes = 0;
  for (const LeftState& each : left_) bytes += bytes_of(each);
  while (left_.size() > 1 && (left_.size() > kMost || bytes > kMostBytes)) {
    bytes -= bytes_of(left_.front());
    left_.pop_front();
  }
}

const LeftState* LeftTrainings::find(std::uint64_t number) const {
  const auto found = std::find_if(left_.begin(), left_.end(), Numbered{number});
  return found == left_.end() ? nullptr : &*found;
}

LeftState LeftTrainings::take(std::uint64_t number) {
  const auto found = std::find_if(left_.begin(), left_.end(), Numbered{number});
  LeftState left = std::move(*found);
  left_.erase(found);
  return left;
}

std::shared_ptr<const std::vector<LeftTraining>> LeftTrainings::list(const TrainingTree& tree,
                                                                     std::uint64_t training) const {
  auto list = std::make_shared<std::vector<LeftTraining>>();
  for (const LeftState& each : left_) {
    LeftTraining left{each.number, each.engine.steps};
    if (auto fork = tree.fork(each.number, training)) {
      left.from = std::min(fork->step, left.step);
      left.changed = std::move(fork->changed);
    }
    list->push_back(std::move(left));
  }
  return list;
}

void ProgressOfCopies::note(std::size_t copy, const Steering& steering, const Progress& progress,
                            std::shared_ptr<const TrainingSettings> settings) {
  noted_[copy] = {steering, progress, std::move(settings), {}};
}

void ProgressOfCopies::before_point(std::uint64_t step, const FigureTally& tally) {
  for (Noted& each : noted_) {
    if (!each.tally && step > each.progress.step) each.tally = tally.mark();
  }
}

void ProgressOfCopies::recall(std::size_t copy, LeftState& left) const {
  const Noted& noted = noted_[copy];
  left.steering = noted.steering;
  left.steering.clear_divergence();
  left.steering.follow(*noted.settings, *left.settings);
  left.progress = noted.progress;
  if (!noted.tally) return;
  left.tally.back_to(*noted.tally);
  left.progress.seconds = left.tally.figures().seconds;  // steps were under way when the copy was taken
}

}  // namespace warpscope::training
