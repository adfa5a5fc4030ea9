// The trainer's thread: the learning-rate range test. Its steps change the weights, and the weights come
// back.

#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/training/worker.h"

namespace warpscope::training {

void Trainer::Worker::start_rate_search(const RateFinderOptions& options) {
  if (view_.state != TrainerState::running && view_.state != TrainerState::paused) return;
  RateFinder finder(options);
  drain();
  rate_search_.emplace(RateSearchRun{std::move(finder), engine_->state()});
  view_.rate_search = std::make_shared<RateSearch>(RateSearch{true, 0.0, {}});
  publishing_.log(LogLevel::info, fmt::format("looking for a learning rate: {} steps from {:g} to {:g}",
                                              files::grouped(options.steps), options.low, options.high));
  publish(true);
}

void Trainer::Worker::advance_rate_search() {
  RateFinder& finder = rate_search_->finder;
  engine_->set_learning_rate(static_cast<float>(finder.next_rate()));
  engine_->step(false);
  const auto take = [&](bool flush) {
    for (const StepResult& step : engine_->collect_steps(flush)) finder.note(static_cast<double>(step.loss));
  };
  take(true);
  engine_->synchronize();
  take(false);
  if (finder.done()) return end_rate_search(false);
  const double progress = static_cast<double>(finder.steps_done()) / finder.options().steps;
  view_.rate_search = std::make_shared<RateSearch>(RateSearch{true, progress, finder.result()});
}

void Trainer::Worker::end_rate_search(bool cancelled) {
  RateSearchRun search = std::move(*rate_search_);
  rate_search_.reset();
  engine_->restore(search.before);
  remember();
  auto ended = std::make_shared<RateSearch>(RateSearch{false, 1.0, search.finder.result()});
  if (cancelled) ended->result.text = "cancelled: the weights are those from before";
  publishing_.log(LogLevel::info, ended->result.text);
  view_.rate_search = std::move(ended);
  engine_->interrupt();
  publish(true);
}

}  // namespace warpscope::training
