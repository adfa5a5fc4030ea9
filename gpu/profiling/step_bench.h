#pragma once
// Times whole training steps of selections: one graph launch each, as training runs them.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/profiling/bench.h"
#include "gpu/profiling/step_memory.h"

namespace warpscope::profiling {

/// A whole training step of one selection.
struct StepRow {
  std::string name;  ///< of the preset ("tensor cores")
  plan::Selection selection;
  std::string skipped;     ///< why it was not timed; "" if it was
  int batch = 0;           ///< images of a step
  ops::UpdateRule rule{};  ///< by which it changes the weights
  double median = 0;       ///< microseconds of a step
  double p10 = 0;          ///< microseconds
  double p90 = 0;          ///< microseconds
  double images_per_second = 0;
  std::size_t peak_bytes = 0;  ///< device memory of the plan: activations, their gradients and workspace
  double joules = -1;          ///< energy of a step; negative where the driver does not tell
};

struct StepOptions {
  std::vector<core::Precision> precisions;  ///< empty: all selectable
  std::string only;                         ///< selections whose name contains this; "" for all
  int samples = 200;                        ///< steps timed of each selection, at most
  double seconds = 0.5;                     ///< of timing for each selection, at most (at least 3 steps)
  bool energy = true;                       ///< measured too, which takes more than a second
};

/// What is made of the fastest variant of each operation by itself, which need not make the fastest step.
inline constexpr const char* kFastestOps = "fastest of each op";

/// One selection to time.
struct StepCase {
  std::string name;
  plan::Selection selection;
  std::string skipped;  ///< why it cannot be
};

/// In each precision: "automatic" (on a GPU that is the preset "fastest"), each preset of the device's kind,
/// and kFastestOps, made of the best of `rows`, where they hold
/// that precision.
std::vector<StepCase> step_cases(const plan::Machine& machine, const std::vector<BenchRow>& rows,
                                 const StepOptions& options);

/// Times one selection on random images. A plan that cannot be built, for memory or otherwise, gives a row
/// that says why. `go_on` is asked between steps; if it says false, the row has no times.
StepRow time_steps(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                   const StepCase& what, const StepOptions& options, const std::function<bool()>& go_on = {});

/// time_steps() of all step_cases(). Returns what was done until cancelled.
std::vector<StepRow> bench_steps(const ops::Context& context, const models::Model& model,
                                 const StepSetup& setup, const std::vector<BenchRow>& rows,
                                 const StepOptions& options, const Progress& progress);

}  // namespace warpscope::profiling
