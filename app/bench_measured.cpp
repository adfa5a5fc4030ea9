// What trainings take by measurement (--measure), as bench tells it.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/bench_report.h"
#include "app/options.h"
#include "gpu/core/error.h"
#include "gpu/profiling/measured_store.h"

namespace warpscope::app {
namespace {

/// Measured anew and kept, or what is kept; nothing where that is nothing.
std::optional<profiling::FoundMeasurement> found_in(const std::filesystem::path& folder,
                                                    const ops::Context& context, const models::Model& model,
                                                    const profiling::StepSetup& setup,
                                                    const plan::Selection& selection, bool anew) {
  const profiling::MeasuredStore store(folder);
  const std::string key = profiling::measurement_key(context, model, setup, selection);
  profiling::FoundMeasurement found;
  if (!anew) {
    auto kept = store.find(key, found.warning);
    if (!kept) return std::nullopt;
    found.measurement = std::move(*kept);
    found.kept_before = true;
    return found;
  }
  found.measurement = profiling::measure(context, model, setup, selection);
  if (found.measurement.final && !folder.empty()) store.keep(key, found.measurement);
  return found;
}

}  // namespace

std::string measured_text(const ops::Context& context, const models::Model& model,
                          const profiling::StepSetup& setup, const std::vector<core::Precision>& precisions,
                          bool anew) {
  const std::string folder = measured_dir();
  if (folder.empty() && !anew) return "";
  std::string text;
  const std::vector<core::Precision> possible = plan::training_precisions(context);
  for (const core::Precision precision : precisions) {
    if (std::ranges::find(possible, precision) == possible.end()) continue;
    const auto found = found_in(folder, context, model, setup, {precision, {}}, anew);
    if (!found) continue;
    text += fmt::format("{} {}\n", core::to_string(precision), profiling::describe(*found));
    for (const auto& [call, choice] : found->measurement.choices) {
      text += fmt::format("  {}: {}, {}\n", call, choice.variant, plan::describe(choice));
    }
  }
  return text;
}

}  // namespace warpscope::app
