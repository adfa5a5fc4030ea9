#include "ui/panels/runs/run_loader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/export/export.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/user_runs.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Between looks at files that may have grown.
constexpr auto kInterval = std::chrono::milliseconds(500);

// Only run.json of a run; nothing if there is none.
std::optional<runs::Run> head_of(const fs::path& folder) {
  try {
    runs::RunFollower follower(folder);
    follower.poll(0);
    return follower.run();
  } catch (const core::Error&) {
    return {};
  }
}

bool same_present(const std::optional<runs::RunSummary>& a, const std::optional<runs::RunSummary>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  // Compared as text, since NaN is not equal to NaN.
  return a->folder == b->folder && runs::json_text(runs::json_of(*a)) == runs::json_text(runs::json_of(*b));
}

bool same_list(const RunList& a, const RunList& b) {
  const auto key = [](const runs::RunSummary& run) {
    return std::tie(run.folder, run.status, run.steps, run.notes, run.error);
  };
  return a.error == b.error && same_present(a.present, b.present) &&
         std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                    [&](const auto& one, const auto& other) { return key(one) == key(other); });
}

}  // namespace

fs::path folder_of_runs(const std::string& run_dir) {
  if (run_dir.empty() || runs::is_user_run(run_dir)) return "runs";
  fs::path run = fs::path(run_dir).lexically_normal();
  if (!run.has_filename()) run = run.parent_path();
  const fs::path parent = run.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

fs::path folder_of_user_runs() {
  try {
    return runs::user_runs_folder();
  } catch (const core::Error&) {
    return {};
  }
}

void RunLoader::request(std::optional<RunRequest> request) {
  const std::lock_guard lock(mutex_);
  if (request == request_) return;
  request_ = std::move(request);
  changed_ = true;
  wake_.notify_all();
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  } catch (const std::system_error& error) {
    auto list = std::make_shared<RunList>();
    list->error = core::sentence_of(error);
    list_ = std::move(list);
    ++version_;
  }
}

std::shared_ptr<const RunList> RunLoader::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

std::shared_ptr<const RunSettings> RunLoader::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

void RunLoader::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    const auto changed = [this] { return changed_; };
    if (request_) {
      wake_.wait_for(lock, stop, kInterval, changed);
    } else {
      wake_.wait(lock, stop, changed);
    }
    changed_ = false;
    const std::optional<RunRequest> request = request_;
    lock.unlock();
    if (!request || stop.stop_requested()) continue;
    compare_settings(*request);
    look_at_list(*request, stop);
  }
}

void RunLoader::look_at_list(const RunRequest& request, const std::stop_token& stop) {
  auto list = std::make_shared<RunList>();
  if (!request.present.empty()) {
    if (const auto head = head_of(request.present)) list->present = runs::summarize_settings(*head);
  }
  try {
    list->runs = listing_.look(request.folder, request.present, stop);
    std::error_code other;
    if (!request.also.empty() && !fs::equivalent(request.folder, request.also, other)) {
      std::vector<runs::RunSummary> more = also_.look(request.also, request.present, stop);
      std::move(more.begin(), more.end(), std::back_inserter(list->runs));
      runs::sort_runs(list->runs, runs::RunOrder::time);
    }
  } catch (const std::exception& error) {
    if (list->runs.empty()) list->error = core::sentence_of(error);
  }
  const std::lock_guard lock(mutex_);
  if (stop.stop_requested() || (list_ && same_list(*list_, *list))) return;
  list_ = std::move(list);
  ++version_;
}

void RunLoader::compare_settings(const RunRequest& request) {
  auto settings = std::make_shared<RunSettings>();
  std::vector<runs::Run> heads;
  const auto add = [&](const fs::path& folder) {
    // A run without settings would differ in all of them, which says nothing.
    if (auto head = head_of(folder); head && !runs::settings_of(head->head).empty()) {
      settings->runs.push_back(folder);
      heads.push_back(std::move(*head));
    }
  };
  if (!request.present.empty()) add(request.present);
  for (const fs::path& run : request.shown) add(run);
  settings->differences = runs::settings_that_differ(heads);
  const std::lock_guard lock(mutex_);
  if (*settings_ == *settings) return;
  settings_ = std::move(settings);
  ++version_;
}

}  // namespace warpscope::ui
