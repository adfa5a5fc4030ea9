#include "gpu/runs/run_source.h"

#include <chrono>
#include <exception>
#include <utility>

#include "gpu/core/host_memory.h"

namespace warpscope::runs {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(250);
/// Of metrics.jsonl at a time, so that a large run appears bit by bit.
constexpr std::uint64_t kMostBytes = 4 << 20;
constexpr const char* kRefusal =
    "this window shows a run that another process trains: it cannot be steered from here";

bool begins_anew(const training::FeedItem& item) {
  return std::holds_alternative<training::Restart>(item);
}

}  // namespace

RunSource::RunSource(const std::filesystem::path& folder) : follower_(folder) {
  published_ = std::make_shared<training::Snapshot>(RunView(folder).snapshot());
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RunSource::~RunSource() {
  thread_.request_stop();
  wake_.notify_all();
}

void RunSource::send(training::Command /*command*/) {
  {
    const std::lock_guard lock(mutex_);
    ++refused_;
  }
  wake_.notify_all();
}

std::shared_ptr<const training::Snapshot> RunSource::snapshot() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::shared_ptr<training::Feed> RunSource::subscribe() {
  auto feed = std::make_shared<training::Feed>();
  const std::lock_guard lock(mutex_);
  feed->push(history_);
  feeds_.push_back(feed);
  return feed;
}

std::shared_ptr<training::ImageExchange> RunSource::images() const {
  const std::lock_guard lock(mutex_);
  return exchange_;
}

std::shared_ptr<const training::ImageHistory> RunSource::history() const {
  const std::lock_guard lock(mutex_);
  return image_history_;
}

void RunSource::work(const std::stop_token& stop) {
  RunView view(follower_.run().folder);
  bool restarted = false;
  while (!stop.stop_requested()) {
    RunUpdate update = follower_.poll(kMostBytes);
    restarted = restarted || update.restarted;
    // What is read anew from the start is told only once it is all there.
    if (!(update.more && restarted)) {
      update.restarted = std::exchange(restarted, false);
      if (look(view, update)) publish(view);
    }
    std::unique_lock lock(mutex_);
    if (!update.more) wake_.wait_for(lock, stop, kInterval, [this] { return refused_ > 0; });
    if (std::exchange(refused_, 0) == 0) continue;
    lock.unlock();
    view.notice(kRefusal);
    publish(view);
  }
}

/// What goes wrong where this process reads (no memory, no device) is told, and tried again.
bool RunSource::look(RunView& view, const RunUpdate& update) {
  try {
    return view.look(follower_.run(), update, Liveness::Clock::now());
  } catch (const std::exception& error) {
    view.notice(core::sentence_of(error));
    return true;
  }
}

void RunSource::publish(RunView& view) {
  auto next = std::make_shared<const training::Snapshot>(view.snapshot());
  const std::vector<training::FeedItem> items = view.take_items();
  const std::lock_guard lock(mutex_);
  published_ = std::move(next);
  exchange_ = view.images();
  image_history_ = view.history();
  std::erase_if(feeds_, [](const std::weak_ptr<training::Feed>& feed) { return feed.expired(); });
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(items);
  }
  for (const training::FeedItem& item : items) {
    if (begins_anew(item)) history_.clear();
    history_.push_back(item);
  }
}

}  // namespace warpscope::runs
