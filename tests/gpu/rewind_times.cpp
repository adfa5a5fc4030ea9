// Measures how soon a training stands at one of its past steps again, and how soon such a step is there aside while
// the training goes on:
//
//   rewind_times [--device cuda:0] [--model autoencoder] [--data builtin] [--precision bf16] [--batch 128]
//                [--steps 50000] [--times 15] [--seed 1]
//
// Takes so many steps; then asks for random ones aside, for kept moments, and for random ones, from the last to the
// first, since what lies behind a step that is gone back to is no longer at hand. A line for each: the step, the
// moment that it is made from, milliseconds from the command to the step. Then the median and the longest of each
// kind. Exit code 1 if a step does not come.
//
// With --cost 3, trains so often without moments and with them, in turns, and tells steps a second instead.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/trainer.h"

namespace {

using namespace warpscope;
using training::Snapshot;

constexpr double kPatience = 300;

/// What is given on the command line, or else applies, by name.
using Options = std::map<std::string, std::string, std::less<>>;

Options options_of(int count, char** arguments) {
  Options options{{"device", "cuda:0"}, {"model", "autoencoder"}, {"data", "builtin"}, {"precision", "bf16"},
                  {"batch", "128"},     {"steps", "50000"},       {"times", "15"},     {"seed", "1"},
                  {"cost", "0"}};
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = std::string(arguments[i]).substr(2);
    if (!options.contains(name)) throw core::BadInput("there is no " + name);
    options[name] = arguments[i + 1];
  }
  return options;
}

training::TrainerOptions trainer_options(const Options& options, bool keeps_moments = true) {
  training::Configuration given;
  if (!keeps_moments) given.set("moments", std::int64_t{0});
  for (const char* name : {"device", "model", "precision"}) given.set(name, options.at(name));
  given.set("data_source", options.at("data"));
  given.set("batch", std::int64_t{std::stoi(options.at("batch"))});
  training::TrainerOptions made;
  training::apply(training::resolve(given), made);
  return made;
}

void wait(const training::Trainer& trainer, const std::function<bool(const Snapshot&)>& condition) {
  if (trainer.wait_until(condition, kPatience)) return;
  const auto last = trainer.snapshot();
  throw core::Error(fmt::format("step {} does not come: {}", last->step, last->notice + last->aside.problem));
}

class Times {
 public:
  Times(training::Trainer& trainer, std::string what) : trainer_(trainer), what_(std::move(what)) {}
  ~Times() {
    if (milliseconds_.empty()) return;
    std::sort(milliseconds_.begin(), milliseconds_.end());
    fmt::print("{}: median {:.0f} ms, longest {:.0f} ms of {}\n", what_,
               milliseconds_[milliseconds_.size() / 2], milliseconds_.back(), milliseconds_.size());
  }
  Times(const Times&) = delete;
  Times& operator=(const Times&) = delete;

  void take(std::uint64_t step, training::Command command,
            const std::function<bool(const Snapshot&)>& there) {
    const auto moments = trainer_.snapshot()->moments;
    const auto behind = std::upper_bound(moments->begin(), moments->end(), step);
    const auto begin = std::chrono::steady_clock::now();
    trainer_.send(std::move(command));
    wait(trainer_, there);
    milliseconds_.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    fmt::print("{}: step {} from {}: {:.1f} ms\n", what_, step,
               behind == moments->begin() ? 0 : *std::prev(behind), milliseconds_.back());
    std::fflush(stdout);
  }

 private:
  training::Trainer& trainer_;
  const std::string what_;
  std::vector<double> milliseconds_;
};

/// Steps a second from a tenth of the steps on: what the first ones wait for is no cost of moments.
double steps_a_second(const Options& options, bool keeps_moments) {
  const std::uint64_t steps = std::stoull(options.at("steps"));
  training::Trainer trainer(trainer_options(options, keeps_moments));
  const auto time_at = [&](std::uint64_t step) {
    wait(trainer, [step](const Snapshot& now) { return now.step >= step; });
    return std::pair(trainer.snapshot()->step, std::chrono::steady_clock::now());
  };
  const auto [first, begin] = time_at(steps / 10);
  const auto [last, end] = time_at(steps);
  const double speed = static_cast<double>(last - first) / std::chrono::duration<double>(end - begin).count();
  fmt::print("{} moments: {:.1f} steps/s\n", trainer.snapshot()->moments->size(), speed);
  std::fflush(stdout);
  return speed;
}

void measure_cost(const Options& options) {
  double without = 0, with = 0;
  steps_a_second(options, true);  // counts for nothing: a cool GPU is faster
  for (int turn = 0; turn < std::stoi(options.at("cost")); ++turn) {
    without += steps_a_second(options, false);
    with += steps_a_second(options, true);
  }
  fmt::print("moments cost {:.2f} % of the steps a second\n", 100 * (1 - with / without));
}

void measure(const Options& options) {
  const std::uint64_t steps = std::stoull(options.at("steps"));
  const std::size_t count = std::stoull(options.at("times"));
  std::mt19937_64 random(std::stoull(options.at("seed")));
  const auto falling = [&](std::uint64_t most) {
    std::vector<std::uint64_t> drawn(count);
    for (auto& step : drawn) step = std::uniform_int_distribution<std::uint64_t>(1, most)(random);
    std::sort(drawn.rbegin(), drawn.rend());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
    return drawn;
  };

  training::Trainer trainer(trainer_options(options));
  wait(trainer, [&](const Snapshot& now) { return now.step >= steps; });
  fmt::print("{} on {}, {}, batch {}: step {}, {} moments\n", options.at("model"),
             trainer.snapshot()->device.name, options.at("precision"), options.at("batch"),
             trainer.snapshot()->step, trainer.snapshot()->moments->size());
  {
    Times aside(trainer, "aside while the training goes on");
    for (const std::uint64_t step : falling(steps)) {
      aside.take(step, training::LookAside{step},
                 [step](const Snapshot& now) { return now.aside.step == step && now.aside.ready; });
    }
    trainer.send(training::LookAside{});
  }
  trainer.send(training::Pause{});
  wait(trainer, [](const Snapshot& now) { return now.state == training::TrainerState::paused; });
  const auto back = [&](Times& times, std::uint64_t step) {
    times.take(step, training::RewindTo{step},
               [step](const Snapshot& now) { return now.step == step && !now.rewind.running; });
  };
  {
    // The later half of the steps: the other is for those that were not kept.
    Times kept(trainer, "a kept moment");
    const auto moments = *trainer.snapshot()->moments;
    std::size_t taken = 0;
    for (auto each = moments.rbegin(); each != moments.rend() && taken<count&& * each> steps / 2;
         ++each, ++taken)
      back(kept, *each);
  }
  Times any(trainer, "any step");
  for (const std::uint64_t step : falling(trainer.snapshot()->step - 1)) back(any, step);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const Options options = options_of(count, arguments);
    options.at("cost") == "0" ? measure(options) : measure_cost(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rewind_times: {}\n", error.what());
    return 1;
  }
}
