#include "gpu/runs/summary.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/figure_table.h"
#include "gpu/runs/run_figures.h"
#include "gpu/runs/text.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A member of an object; null if it has none or is none.
const json& member(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_of(const json& value) {
  return value.is_string() ? files::escaped(value.get_ref<const std::string&>()) : "";
}

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : RunSummary::kNone;
}

std::optional<double> time_in(const std::string& text, const char* format) {
  std::tm time{};
  if (::strptime(text.c_str(), format, &time) == nullptr) return {};
  return static_cast<double>(::timegm(&time));
}

/// A setting as it was last, and in `at_first` as it was before if it was changed during the run.
template <class Value>
void take_setting(const json& head, const char* key, Value read(const json&), Value& value, Value& at_first) {
  const json& first = member(member(head, "configuration"), key);
  const json& current = member(member(head, "current"), key);
  value = read(current.is_null() ? first : current);
  // What is not known at first, of a run that a later version went on with, counts as unchanged.
  if (!current.is_null() && !first.is_null() && current != first) at_first = read(first);
}

void take_settings(const json& head, RunSummary& summary) {
  const json& configuration = member(head, "configuration");
  const json& changed_model = member(member(head, "current"), "model");
  summary.model = text_of(changed_model.is_null() ? member(configuration, "model") : changed_model);
  summary.data = text_of(member(configuration, "data"));
  auto& first = summary.at_first;
  take_setting(head, "precision", text_of, summary.precision, first.precision);
  take_setting(head, "optimizer", text_of, summary.optimizer, first.optimizer);
  take_setting(head, "learning_rate", number_of, summary.learning_rate, first.learning_rate);
  take_setting(head, "batch", number_of, summary.batch, first.batch);
  summary.device = text_of(member(member(head, "device"), "name"));
  if (summary.device.empty()) summary.device = text_of(member(configuration, "device"));
}

void take_results(const json& head, RunSummary& summary) {
  const json& steps = member(head, "steps");
  if (steps.is_number_unsigned()) summary.steps = steps.get<std::uint64_t>();
  for (const training::Figure& figure : training::run_figures())
    summary.*figure.value = number_of(member(head, figure.key));
}

void take_points(const RunPoints& points, RunSummary& summary) {
  static_cast<training::RunFigures&>(summary) = as_written(training::FigureTally(points).figures());
  if (summary.steps == 0) summary.epochs = summary.seconds = RunSummary::kNone;
}

/// run.json of a run that has ended tells all results.
bool has_results(const json& head) {
  return text_of(member(head, "status")) != "running" && member(head, "steps").is_number_unsigned();
}

/// As far as run.json is read at all.
Run head_of(const fs::path& folder) {
  RunFollower follower(folder);
  follower.poll(0);
  return follower.run();
}

}  // namespace

double start_of(const Run& run) {
  const json& started = member(run.head, "started");
  if (started.is_number()) return started.get<double>();
  if (started.is_string()) {
    if (const auto time = time_in(started.get<std::string>(), "%Y-%m-%dT%H:%M:%S")) return *time;
  }
  if (const auto time = time_in(run_name(run.folder), "%Y%m%dT%H%M%SZ")) return *time;
  for (const char* name : {".lock", "run.json", "metrics.jsonl"}) {
    struct stat status {};
    if (::stat((run.folder / name).c_str(), &status) == 0) return static_cast<double>(status.st_mtime);
  }
  return RunSummary::kNone;
}

RunSummary summarize_settings(const Run& run) {
  RunSummary summary;
  summary.folder = run.folder;
  summary.name = run_name(run.folder);
  summary.started = start_of(run);
  summary.notes = run.notes;
  take_settings(run.head, summary);
  return summary;
}

RunSummary summarize(const Run& run) {
  RunSummary summary = summarize_settings(run);
  if (has_results(run.head)) {
    take_results(run.head, summary);
  } else {
    take_points(run.points, summary);
  }
  summary.status = text_of(member(run.head, "status"));
  summary.error = text_of(member(run.head, "error"));
  if (summary.status == "running" || summary.status.empty()) {
    summary.status = is_being_written(run.folder) ? "running" : "interrupted";
  }
  return summary;
}

RunSummary summary_of_refused(const fs::path& folder, std::string why) {
  Run run;
  run.folder = folder;
  run.notes.push_back(std::move(why));
  RunSummary summary = summarize_settings(run);
  summary.status = "refused";
  return summary;
}

std::vector<RunSummary> list_runs(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw core::BadInput(
        fmt::format("there is no folder {}; name a folder that holds runs", files::escaped(folder.string())));
  }
  if (is_run(folder)) folders.push_back(folder);
  for (const fs::directory_entry& entry : files::entries_of(folder, error)) {
    if (is_run(entry.path())) folders.push_back(entry.path());
  }
  if (error) {
    throw core::BadInput(
        fmt::format("cannot read the folder {}: {}", files::escaped(folder.string()), error.message()));
  }
  std::vector<RunSummary> runs;
  for (const fs::path& one : folders) {
    try {
      Run run = head_of(one);
      if (!has_results(run.head)) run = read_run(one);
      runs.push_back(summarize(run));
    } catch (const std::exception& refusal) {
      runs.push_back(summary_of_refused(one, core::sentence_of(refusal)));
    }
  }
  sort_runs(runs, RunOrder::time);
  return runs;
}

void sort_runs(std::vector<RunSummary>& runs, RunOrder order) {
  const auto key = [order](const RunSummary& run) {
    double value = run.test_loss;
    if (order == RunOrder::time) value = -run.started;
    if (order == RunOrder::speed) value = -run.median_images_per_second;
    return std::tuple(std::isnan(value), std::isnan(value) ? 0.0 : value);
  };
  std::stable_sort(runs.begin(), runs.end(), [&](const RunSummary& a, const RunSummary& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    // Among runs started in one second, the later has the larger name.
    return order == RunOrder::time ? a.name > b.name : a.name < b.name;
  });
}

}  // namespace warpscope::runs
