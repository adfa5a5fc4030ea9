#include "gpu/profiling/measured_store.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/engine/recipe.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/read_json.h"
#include "gpu/files/sha256.h"
#include "gpu/plan/program.h"

namespace warpscope::profiling {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kNameDigits = 32;
constexpr std::int64_t kAnyCount = 1;  // of images and of slots in the ring: no call's time depends on them

/// Which build this is: kernels change more often than versions.
std::string build_text() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const auto bytes = error ? 0 : fs::file_size(program, error);
  const auto written = error ? fs::file_time_type() : fs::last_write_time(program, error);
  return fmt::format("{} {} {}", WARPSCOPE_VERSION, bytes, written.time_since_epoch().count());
}

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_time(double microseconds) {
  return std::isfinite(microseconds) && microseconds >= 0;
}

std::optional<Measurement> measurement_from(const json& file, const std::string& key) {
  if (file.value("format", 0) != kFormat || file.value("key", std::string()) != key) return std::nullopt;
  auto choices = choices_from_json(file.value("choices", json()));
  if (!choices) return std::nullopt;
  Measurement result;
  result.choices = std::move(*choices);
  result.step_microseconds = file.value("step_microseconds", 0.0);
  result.by_rules_microseconds = file.value("by_rules_microseconds", 0.0);
  result.why_rules = result.choices.empty() ? "no other variant makes steps faster here" : "";
  if (!is_time(result.step_microseconds) || !is_time(result.by_rules_microseconds)) return std::nullopt;
  return result;
}

/// Removes the oldest files that are more than there may be.
void remove_oldest(const fs::path& folder, std::size_t most) {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const fs::directory_entry& entry : files::entries_of(folder, error)) {
    if (entry.path().extension() == ".json") files.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (files.size() <= most) return;
  std::ranges::sort(files);
  files.resize(files.size() - most);
  for (const auto& [written, file] : files) fs::remove(file, error);
}

}  // namespace

json to_json(const plan::MeasuredChoices& choices) {
  json result = json::object();
  for (const auto& [key, choice] : choices) {
    result[key] = {{"variant", choice.variant},
                   {"microseconds", choice.microseconds},
                   {"instead", choice.instead},
                   {"instead_microseconds", choice.instead_microseconds}};
  }
  return result;
}

std::optional<plan::MeasuredChoices> choices_from_json(const json& value) {
  if (!value.is_object()) return std::nullopt;
  plan::MeasuredChoices choices;
  try {
    for (const auto& [key, row] : value.items()) {
      const plan::MeasuredChoice choice{row.at("variant"), row.at("microseconds"), row.at("instead"),
                                        row.at("instead_microseconds")};
      if (!is_name(choice.variant) || !is_name(choice.instead) || !is_time(choice.microseconds) ||
          !is_time(choice.instead_microseconds)) {
        return std::nullopt;
      }
      choices[key] = choice;
    }
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return choices;
}

std::string measurement_key(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                            const plan::Selection& selection) {
  const core::DeviceInfo& device = context.device->info();
  const char* const threads =
      std::getenv("OMP_NUM_THREADS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::string key = fmt::format("{}\n{} {} {} {}\nthreads {}\n{}\n", build_text(), device.name,
                                device.compute_capability, device.multiprocessors, device.driver,
                                threads == nullptr ? "" : threads, plan::to_string(selection));
  const plan::Program program =
      plan::lower(model, plan::Purpose::training, setup.part().batch, kAnyCount, kAnyCount,
                  selection.precision, training::recipe_of(setup.optimizer, setup.augment, setup.part()));
  for (const plan::Node& node : program.nodes) {
    key += plan::call_key(node.op, selection.precision, node.shape) + "\n";
  }
  return key;
}

fs::path MeasuredStore::file_of(const std::string& key) const {
  files::Sha256 sum;
  sum.update(key.data(), key.size());
  return folder_ / (sum.finish().substr(0, kNameDigits) + ".json");
}

std::optional<Measurement> MeasuredStore::find(const std::string& key, std::string& warning) const {
  const fs::path file = file_of(key);
  const auto text = files::read_small_file(file, kMostBytes);
  if (!text) return std::nullopt;
  const json parsed = files::read_json(*text);
  try {
    if (parsed.is_object()) {
      if (auto found = measurement_from(parsed, key)) return found;
    }
  } catch (const json::exception&) {
    // Told below.
  }
  warning =
      fmt::format("{} is damaged, so it is measured anew which variants are the fastest", file.string());
  return std::nullopt;
}

void MeasuredStore::keep(const std::string& key, const Measurement& measurement) const {
  const fs::path file = file_of(key);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) throw core::Error(fmt::format("{} cannot be made: {}", folder_.string(), error.message()));
  const json contents = {{"format", kFormat},
                         {"key", key},
                         {"choices", to_json(measurement.choices)},
                         {"step_microseconds", measurement.step_microseconds},
                         {"by_rules_microseconds", measurement.by_rules_microseconds}};
  files::write_file_atomically(file, contents.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  remove_oldest(folder_, kMostFiles);
}

FoundMeasurement find_or_measure(const ops::Context& context, const models::Model& model,
                                 const StepSetup& setup, const plan::Selection& selection,
                                 const fs::path& folder, const MeasureOptions& options) {
  FoundMeasurement result;
  const MeasuredStore store(folder);
  const std::string key = measurement_key(context, model, setup, selection);
  if (auto found = store.find(key, result.warning)) {
    result.measurement = std::move(*found);
    result.kept_before = true;
    return result;
  }
  result.measurement = measure(context, model, setup, selection, options);
  if (!result.measurement.final) return result;
  try {
    store.keep(key, result.measurement);
  } catch (const core::Error& error) {
    result.warning = fmt::format("what was measured of variants is not kept: {}", error.what());
  }
  return result;
}

std::string describe(const FoundMeasurement& found) {
  const Measurement& measured = found.measurement;
  const std::string when = found.kept_before ? "measured before" : "measured";
  if (measured.choices.empty()) return fmt::format("{}: the rules hold, {}", when, measured.why_rules);
  return fmt::format(
      "{}: {} kind{} of calls by other variants, {:.0f} \u00b5s a step instead of {:.0f} \u00b5s", when,
      measured.choices.size(), measured.choices.size() == 1 ? "" : "s", measured.step_microseconds,
      measured.by_rules_microseconds);
}

}  // namespace warpscope::profiling
