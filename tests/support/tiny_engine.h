#pragma once
// An engine that trains the tiny network.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/engine/engine.h"
#include "tests/support/plan_memory.h"
#include "tests/support/tiny.h"

namespace warpscope::tests {

inline training::EngineOptions tiny_engine_options(std::string_view variant = "loops") {
  training::EngineOptions options;
  options.model = tiny_model();
  options.selection = all_of(variant);
  options.batch = 8;
  options.optimizer = training::defaults_of(ops::UpdateRule::sgd);
  options.optimizer.learning_rate = 0.1f;
  options.seed = 5;
  options.test_images = 12;
  return options;
}

/// Takes steps and waits for their records.
inline std::vector<training::StepResult> run_steps(training::Engine& engine, int steps, bool timed = false) {
  std::vector<training::StepResult> results;
  const auto collect = [&](bool flush) {
    for (const training::StepResult& result : engine.collect_steps(flush)) results.push_back(result);
  };
  for (int i = 0; i < steps; ++i) {
    engine.step(timed);
    collect(false);
  }
  collect(true);
  engine.synchronize();
  collect(false);
  return results;
}

inline std::vector<float> losses(const std::vector<training::StepResult>& results) {
  std::vector<float> values;
  for (const training::StepResult& result : results) values.push_back(result.loss);
  return values;
}

}  // namespace warpscope::tests
