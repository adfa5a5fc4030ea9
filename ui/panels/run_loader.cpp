#include "ui/panels/run_loader.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/export/export_json.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Between looks at files that may have grown, and how much of a file is read before the wish is looked at
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
  // As text, in which no number equals no number.
  return a->folder == b->folder && runs::json_text(runs::json_of(*a)) == runs::json_text(runs::json_of(*b));
}

bool same_list(const RunList& a, const RunList& b) {
  const auto key = [](const runs::RunSummary& run) {
    return std::tie(run.folder, run.status, run.steps, run.notes, run.error);
  };
  return a.trouble == b.trouble && same_present(a.present, b.present) &&
         std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                    [&](const auto& one, const auto& other) { return key(one) == key(other); });
}

bool same_settings(const RunSettings& a, const RunSettings& b) {
  return a.runs == b.runs && a.differences == b.differences;
}

}  // namespace

RunLoader::RunLoader() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

void RunLoader::want(RunWish wish) {
  const std::lock_guard lock(mutex_);
  if (wish == wish_) return;
  wish_ = std::move(wish);
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

std::vector<RunNews> RunLoader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void RunLoader::publish(RunNews news) {
  const std::lock_guard lock(mutex_);
  // Points that nobody has taken yet and that are of no use any more.
  if (news.gain.anew) {
    std::erase_if(news_, [&](const RunNews& older) { return older.id == news.id; });
  }
  news_.push_back(std::move(news));
  ++version_;
}

RunWish RunLoader::wait_for_wish(std::unique_lock<std::mutex>& lock, const std::stop_token& stop,
                                 bool hurry) {
  const auto idle = [this] { return !wish_.list && wish_.shown.empty(); };
  if (idle()) {
    wake_.wait(lock, stop, [this] { return changed_; });
  } else if (!hurry) {
    wake_.wait_for(lock, stop, kInterval, [this] { return changed_; });
  }
  changed_ = false;
  return wish_;
}

void RunLoader::work(const std::stop_token& stop) {
  bool hurry = false;
  while (!stop.stop_requested()) {
    std::unique_lock lock(mutex_);
    const RunWish wish = wait_for_wish(lock, stop, hurry);
    lock.unlock();
    if (stop.stop_requested()) return;
    // Curves first: a person waits for them.
    hurry = advance_curves(wish, stop);
    compare_settings(wish);
    if (wish.list && !hurry) look_at_list(wish, stop);
  }
}

void RunLoader::look_at_list(const RunWish& wish, const std::stop_token& stop) {
  auto list = std::make_shared<RunList>();
  if (!wish.present.empty()) {
    if (const auto head = head_of(wish.present)) list->present = runs::summarize_settings(*head);
  }
  try {
    list->runs = listing_.look(wish.folder, wish.present, stop);
  } catch (const core::Error& error) {
    list->trouble = error.what();
  }
  const std::lock_guard lock(mutex_);
  if (stop.stop_requested() || (list_ && same_list(*list_, *list))) return;
  list_ = std::move(list);
  ++version_;
}

// True if there is more to read at once.
bool RunLoader::advance_curves(const RunWish& wish, const std::stop_token& stop) {
  std::erase_if(makers_, [&](const auto& entry) {
    return std::none_of(wish.shown.begin(), wish.shown.end(),
                        [&](const WantedRun& run) { return run.id == entry.first; });
  });
  bool more = false;
  for (const WantedRun& run : wish.shown) {
    if (stop.stop_requested()) return false;
    more = advance(wish, run) || more;
  }
  return more;
}

bool RunLoader::advance(const RunWish& wish, const WantedRun& run) {
  const auto [entry, is_new] = makers_.try_emplace(run.id);
  Maker& maker = entry->second;
  try {
    if (is_new) maker.curves = std::make_unique<RunCurveMaker>(run.folder);
    if (!maker.curves) return false;
    if (is_new || maker.serial != wish.serial) maker.curves->choose(wish.choice);
    maker.serial = wish.serial;
    if (auto gain = maker.curves->advance(kPieceBytes)) publish({run.id, wish.serial, std::move(*gain), ""});
    return maker.curves->more();
  } catch (const core::Error& error) {
    publish({run.id, wish.serial, {.anew = true, .curves = {}}, error.what()});
    return false;
  }
}

void RunLoader::compare_settings(const RunWish& wish) {
  auto settings = std::make_shared<RunSettings>();
  std::vector<runs::Run> heads;
  const auto add = [&](const fs::path& folder) {
    // A run that does not say how it was set differs in everything, which says nothing.
    if (auto head = head_of(folder); head && !runs::settings_of(head->head).empty()) {
      settings->runs.push_back(folder);
      heads.push_back(std::move(*head));
    }
  };
  if (!wish.present.empty()) add(wish.present);
  for (const WantedRun& run : wish.shown) add(run.folder);
  settings->differences = runs::settings_that_differ(heads);
  const std::lock_guard lock(mutex_);
  if (same_settings(*settings_, *settings)) return;
  settings_ = std::move(settings);
  ++version_;
}

}  // namespace warpscope::ui
