#include "gpu/profiling/step_bench.h"

#include <algorithm>

#include <fmt/format.h>

#include "gpu/core/energy.h"
#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/presets.h"
#include "gpu/profiling/samples.h"

namespace warpscope::profiling {
namespace {

using core::Precision;

constexpr double kEnergySeconds = 1.2;

/// Joules of a step, over more than a second of steps; negative where the driver does not tell.
double joules_of_a_step(const core::DeviceInfo& device, plan::Plan& step, core::Stream& stream,
                        double microseconds) {
  const core::EnergyMeter meter(device);
  const double before = meter.joules();
  if (before < 0 || microseconds <= 0) return -1;
  const int ahead = std::max(1, static_cast<int>(20000 / microseconds));  // about 20 ms of work
  const auto start = core::Clock::now();
  int steps = 0;
  while (core::seconds_since(start) < kEnergySeconds) {
    for (int i = 0; i < ahead; ++i) step.launch(stream);
    stream.synchronize();
    steps += ahead;
  }
  return (meter.joules() - before) / steps;
}

void run_steps(const ops::Context& context, const models::Model& model, const StepSetup& setup,
               const StepOptions& options, const std::function<bool()>& go_on, StepRow& row) {
  context.device->make_current();
  const auto stream = context.device->make_stream();
  const StepMemory memory(context.device, *stream, model, setup, row.selection.precision);
  const auto step = make_step(context, *stream, model, setup, row.selection, memory);
  const auto times = time_back_to_back(*context.device, *stream, {options.samples, options.seconds, go_on},
                                       [&] { step->launch(*stream); });
  if (times.empty()) return;
  const Spread spread = spread_of(times);
  row.median = spread.median;
  row.p10 = spread.p10;
  row.p90 = spread.p90;
  row.images_per_second = spread.median > 0 ? 1e6 * row.batch / spread.median : 0;
  row.peak_bytes = step->memory_bytes();
  if (options.energy) row.joules = joules_of_a_step(context.device->info(), *step, *stream, spread.median);
}

}  // namespace

std::vector<StepCase> step_cases(const plan::Machine& machine, const std::vector<BenchRow>& rows,
                                 const StepOptions& options) {
  std::vector<StepCase> cases;
  for (const Precision precision : core::or_selectable(options.precisions)) {
    const plan::Selection standard{precision, {}};
    if (machine.device.kind == core::DeviceKind::cpu)
      cases.push_back({std::string(plan::kAutomatic), standard, ""});  // else: preset "fastest"
    for (const plan::Preset& preset : plan::presets(machine.device.kind)) {
      StepCase made{preset.label, standard, plan::preset_unavailable_reason(preset.id, machine, precision)};
      if (made.skipped.empty()) made.selection = plan::preset_selection(preset.id, machine, precision);
      cases.push_back(std::move(made));
    }
    const bool measured = std::ranges::any_of(
        rows, [&](const BenchRow& row) { return row.precision == precision && row.samples > 0; });
    if (measured) {
      cases.push_back({kFastestOps, fastest_of(rows, precision, machine, standard), ""});
    }
  }
  std::erase_if(cases, [&](const StepCase& c) { return c.name.find(options.only) == std::string::npos; });
  return cases;
}

StepRow time_steps(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                   const StepCase& what, const StepOptions& options, const std::function<bool()>& go_on) {
  StepRow row;
  row.name = what.name;
  row.selection = what.selection;
  row.skipped = what.skipped;
  row.batch = images_of_step(setup);
  row.rule = setup.optimizer.rule;
  if (!row.skipped.empty()) return row;
  try {
    run_steps(context, model, setup, options, go_on, row);
  } catch (const core::BadInput& error) {
    row.skipped = error.what();
  } catch (const core::OutOfMemory& error) {
    row.skipped = error.what();
  }
  return row;
}

std::vector<StepRow> bench_steps(const ops::Context& context, const models::Model& model,
                                 const StepSetup& setup, const std::vector<BenchRow>& rows,
                                 const StepOptions& options, const Progress& progress) {
  const std::vector<StepCase> cases = step_cases(context, rows, options);
  std::vector<StepRow> done;
  for (const StepCase& what : cases) {
    const std::string text =
        fmt::format("whole step, {}, {}", what.name, core::to_string(what.selection.precision));
    const auto go_on = [&] {
      return !progress || progress(static_cast<int>(done.size()), static_cast<int>(cases.size()), text);
    };
    if (!go_on()) break;
    StepRow row = time_steps(context, model, setup, what, options, go_on);
    if (row.skipped.empty() && row.median <= 0) break;
    done.push_back(std::move(row));
  }
  return done;
}

}  // namespace warpscope::profiling
