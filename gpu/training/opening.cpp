#include "gpu/training/opening.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/known_data.h"
#include "gpu/data/requirements.h"
#include "gpu/engine/head.h"
#include "gpu/files/checksum.h"
#include "gpu/files/paths.h"
#include "gpu/profiling/measured_store.h"
#include "gpu/runs/find_checkpoint.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_reader.h"

namespace warpscope::training {
namespace {

/// Fewer steps are not worth a second.
constexpr double kLeastMeasuredSteps = 1000;

}  // namespace

bool Opening::nobody_waits() const {
  return inbox_.stopped() || inbox_.holds<Finish>() || inbox_.holds<Leave>();
}

Opening::Reading Opening::read(const std::string& source, const models::Model& model,
                               const std::atomic<bool>& refused) const {
  if (around_.aside) return {around_.data_set, "", "", true};  // nothing of it is kept
  if (around_.data_set) {
    const std::string checksum = data::checksum_of(*around_.data_set);
    const std::string& known = around_.known_data.checksum;
    return {around_.data_set, around_.data_set->notice, checksum, known.empty() || known == checksum};
  }
  const data::Requirements wanted = data::requirements_of(model);
  data::FoundData found =
      data::find_data(source, around_.known_data, wanted, [&] { return refused || nobody_waits(); });
  return {std::make_shared<data::DataSet>(std::move(found.set)), std::move(found.notice),
          std::move(found.checksum), found.same};
}

std::string Opening::initial_weights() const {
  std::string file = settings().init_file;
  if (file.empty() && settings().init_partly) {
    throw core::BadInput("init_partly needs init: a file of weights, or the folder of a run");
  }
  if (file.empty()) return file;
  if (runs::is_run(file)) file = runs::find_checkpoint(file, "last").string();
  return files::absolute_path(file).string();
}

plan::MeasuredChoices Opening::measured_choices(const EngineOptions& options, const data::DataSet& data,
                                                const std::shared_ptr<core::Device>& device) const {
  const bool views = !around_.viewed_run.empty();
  const std::string& run = views ? around_.viewed_run : around_.resume_dir;
  if (!settings().measure || settings().deterministic) return {};
  if (around_.measured_dir.empty() && !views) return {};
  if (!run.empty()) {
    const nlohmann::json head = runs::read_head(run);
    const nlohmann::json told = head.value("device", nlohmann::json::object());
    if (told.is_object() && told.value("name", nlohmann::json()) == device->info().name) {
      return profiling::choices_from_json(head.value(runs::kMeasured, nlohmann::json()))
          .value_or(plan::MeasuredChoices());
    }
  }
  if (around_.ranks || views || planned_steps(data) < kLeastMeasuredSteps) return {};
  return measure(options, data, device);
}

plan::MeasuredChoices Opening::measure(const EngineOptions& options, const data::DataSet& data,
                                       const std::shared_ptr<core::Device>& device) const {
  const core::InnerPhase phase(phases_, "measuring");
  models::Model model = options.model;
  if (options.optimizer.joint > 0) model.head_classes = head_classes_of(data);
  profiling::MeasureOptions how;
  how.go_on = [this] { return !nobody_waits(); };
  try {
    const profiling::FoundMeasurement found = profiling::find_or_measure(
        {device, options.variants}, model, {options.batch, options.optimizer, options.augment},
        options.selection, around_.measured_dir, how);
    if (!found.warning.empty()) publishing_.log(LogLevel::warning, found.warning);
    publishing_.log(LogLevel::info, profiling::describe(found));
    return found.measurement.choices;
  } catch (const std::exception&) {
    return {};  // what cannot be trained is told where the engine is made
  }
}

/// Those that are left before the engine is there; without a limit very many.
double Opening::planned_steps(const data::DataSet& data) const {
  const auto images = static_cast<double>(std::int64_t{settings().batch} * settings().optimizer.accumulate);
  double steps = std::numeric_limits<double>::infinity();
  if (settings().epochs > 0) {
    steps = static_cast<double>(settings().epochs) * static_cast<double>(data.train.count) / images;
  }
  return settings().steps > 0 ? std::min(steps, static_cast<double>(settings().steps)) : steps;
}

std::unique_ptr<Engine> Opening::engine(EngineOptions options,
                                        const std::shared_ptr<const data::DataSet>& data,
                                        const std::shared_ptr<core::Device>& device) const {
  if (options.init_file.empty() || around_.resume_dir.empty()) {
    return std::make_unique<Engine>(std::move(options), data, device);
  }
  const runs::Reference known = runs::reference_of(runs::read_head(around_.resume_dir), "init");
  std::error_code error;
  const auto guess = std::filesystem::path(around_.resume_dir) / known.from_run;
  if (!std::filesystem::exists(options.init_file, error) && std::filesystem::is_regular_file(guess, error)) {
    options.init_file = guess.lexically_normal().string();
  }
  try {
    auto engine = std::make_unique<Engine>(options, data, device);
    if (!known.checksum.empty() && files::checksum_of_file(options.init_file) != known.checksum) {
      publishing_.log(LogLevel::warning,
                      fmt::format("{} holds other weights than those that the run began with: a reset would "
                                  "begin with them",
                                  options.init_file));
    }
    return engine;
  } catch (const core::BadInput& failure) {
    options.init_file.clear();
    options.init_partly = false;
    auto engine = std::make_unique<Engine>(std::move(options), data, device);
    publishing_.log(LogLevel::warning,
                    fmt::format("{}; a reset would begin with weights from the seed", failure.what()));
    return engine;
  }
}

}  // namespace warpscope::training
