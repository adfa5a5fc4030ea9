#include "gpu/training/rate_test.h"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/file.h"

namespace warpscope::training {

RateTest::RateTest(Engine& engine, Publishing& publishing, const RateFinderOptions& options)
    : engine_(engine), publishing_(publishing), finder_(options), before_(engine.state()) {
  tell(true, 0, {});
  publishing_.log(LogLevel::info, fmt::format("looking for a learning rate: {} steps from {:g} to {:g}",
                                              files::grouped(options.steps), options.low, options.high));
}

bool RateTest::advance() {
  engine_.set_learning_rate(static_cast<float>(finder_.next_rate()));
  engine_.step(false);
  const auto take = [this](bool flush) {
    for (const StepResult& step : engine_.collect_steps(flush)) finder_.note(static_cast<double>(step.loss));
  };
  take(true);
  engine_.synchronize();
  take(false);
  if (finder_.done()) return false;
  tell(true, static_cast<double>(finder_.steps_done()) / finder_.options().steps, finder_.result());
  return true;
}

void RateTest::end(bool cancelled) {
  engine_.restore(before_);
  RateFinderResult found = finder_.result();
  if (cancelled) found.text = "cancelled: the weights are those from before";
  publishing_.log(LogLevel::info, found.text);
  tell(false, 1, std::move(found));
}

EngineState RateTest::give_up() {
  tell(false, 1, finder_.result());
  return std::move(before_);
}

void RateTest::tell(bool running, double progress, RateFinderResult result) {
  publishing_.view.rate_search =
      std::make_shared<const RateSearch>(RateSearch{running, progress, std::move(result)});
}

}  // namespace warpscope::training
