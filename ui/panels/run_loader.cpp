#include "ui/panels/run_loader.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <tuple>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/export/export_json.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Between looks at files that may have grown, and how much of a file is read before the request is looked at
// again.
constexpr auto kInterval = std::chrono::milliseconds(500);
constexpr std::uint64_t kPieceBytes = 8 << 20;

// run.json of a run alone; nothing if there is none.
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

bool same_settings(const RunSettings& a, const RunSettings& b) {
  return a.runs == b.runs && a.differences == b.differences;
}

}  // namespace

RunLoader::RunLoader() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

void RunLoader::request(RunRequest request) {
  const std::lock_guard lock(mutex_);
  if (request == request_) return;
  request_ = std::move(request);
  changed_ = true;
  wake_.notify_all();
}

std::shared_ptr<const RunList> RunLoader::list() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

std::shared_ptr<const RunSettings> RunLoader::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

std::vector<RunUpdate> RunLoader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(updates_, {});
}

void RunLoader::publish(RunUpdate update) {
  const std::lock_guard lock(mutex_);
  // Points that were not taken yet are replaced by these.
  if (update.points.replace) {
    std::erase_if(updates_, [&](const RunUpdate& older) { return older.id == update.id; });
  }
  updates_.push_back(std::move(update));
  ++version_;
}

RunRequest RunLoader::wait_for_request(std::unique_lock<std::mutex>& lock, const std::stop_token& stop,
                                       bool hurry) {
  const auto idle = [this] { return !request_.list && request_.shown.empty(); };
  if (idle()) {
    wake_.wait(lock, stop, [this] { return changed_; });
  } else if (!hurry) {
    wake_.wait_for(lock, stop, kInterval, [this] { return changed_; });
  }
  changed_ = false;
  return request_;
}

void RunLoader::work(const std::stop_token& stop) {
  bool hurry = false;
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    const RunRequest request = wait_for_request(lock, stop, hurry);
    lock.unlock();
    if (stop.stop_requested()) return;
    // Curves first: a person waits for them.
    hurry = advance_curves(request, stop);
    compare_settings(request);
    if (request.list && !hurry) look_at_list(request, stop);
  }
}

void RunLoader::look_at_list(const RunRequest& request, const std::stop_token& stop) {
  auto list = std::make_shared<RunList>();
  if (!request.present.empty()) {
    if (const auto head = head_of(request.present)) list->present = runs::summarize_settings(*head);
  }
  try {
    list->runs = listing_.look(request.folder, request.present, stop);
  } catch (const std::exception& error) {
    list->error = core::sentence_of(error);
  }
  const std::lock_guard lock(mutex_);
  if (stop.stop_requested() || (list_ && same_list(*list_, *list))) return;
  list_ = std::move(list);
  ++version_;
}

// True if there is more to read at once.
bool RunLoader::advance_curves(const RunRequest& request, const std::stop_token& stop) {
  std::erase_if(readers_, [&](const auto& entry) {
    return std::none_of(request.shown.begin(), request.shown.end(),
                        [&](const WantedRun& run) { return run.id == entry.first; });
  });
  bool more = false;
  for (const WantedRun& run : request.shown) {
    if (stop.stop_requested()) return false;
    more = advance(request, run) || more;
  }
  return more;
}

bool RunLoader::advance(const RunRequest& request, const WantedRun& run) {
  const auto [entry, is_new] = readers_.try_emplace(run.id);
  Reader& reader = entry->second;
  try {
    if (is_new) reader.curves = std::make_unique<RunCurveReader>(run.folder);
    if (!reader.curves) return false;
    if (is_new || reader.serial != request.serial) reader.curves->choose(request.choices);
    reader.serial = request.serial;
    if (auto points = reader.curves->advance(kPieceBytes))
      publish({run.id, request.serial, std::move(*points), ""});
    return reader.curves->more();
  } catch (const std::exception& error) {
    publish({run.id, request.serial, {.replace = true, .curves = {}}, core::sentence_of(error)});
    return false;
  }
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
  for (const WantedRun& run : request.shown) add(run.folder);
  settings->differences = runs::settings_that_differ(heads);
  const std::lock_guard lock(mutex_);
  if (same_settings(*settings_, *settings)) return;
  settings_ = std::move(settings);
  ++version_;
}

}  // namespace warpscope::ui
