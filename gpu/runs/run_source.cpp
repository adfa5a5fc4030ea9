#include "gpu/runs/run_source.h"

#include <chrono>
#include <exception>
#include <optional>
#include <semaphore>
#include <utility>

#include "gpu/core/host_memory.h"

namespace warpscope::runs {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(250);
/// Read of metrics.jsonl at a time, so that a large run appears bit by bit, in pieces for which nobody waits long.
constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr const char* kRefusal =
    "this window shows a run that another process trains: it cannot be steered from here";

/// Threads that read curves at once: many runs laid over one another leave the processor to the training.
std::counting_semaphore<2> readers(2);

struct Turn {
  Turn() { readers.acquire(); }
  ~Turn() { readers.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
};

bool begins_anew(const training::FeedItem& item) {
  return std::holds_alternative<training::Restart>(item);
}

bool holds_view(const training::FeedItem& item) {
  return std::holds_alternative<training::KeptView>(item);
}

}  // namespace

RunSource::RunSource(const std::filesystem::path& folder, Reads reads) : follower_(folder), reads_(reads) {
  published_ = std::make_shared<training::Snapshot>(RunView(folder).snapshot());
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

RunSource::~RunSource() = default;  // ends the thread, which waits by its stop token

void RunSource::stop() {
  thread_.request_stop();
}

void RunSource::queue(training::Command /*command*/, std::uint64_t number) {
  answer(number, false, kRefusal);
}

void RunSource::answer(std::uint64_t number, bool taken, std::string told) {
  {
    const std::lock_guard lock(mutex_);
    if (!told.empty()) to_tell_.push_back(std::move(told));
    if (number > 0) answers_.note(number, taken);
    answered_ = true;
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
  feed->push(reads_ == Reads::curves ? std::exchange(history_, {}) : history_);
  feeds_.push_back(feed);
  std::erase_if(history_, holds_view);
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
  RunView view(follower_.run().folder, reads_);
  bool answered = false;
  std::vector<std::string> to_tell;
  while (!stop.stop_requested()) {
    bool more = false;
    try {
      for (const std::string& text : std::exchange(to_tell, {})) view.notice(text);
      if (std::exchange(answered, false)) publish(view);
      more = read(view);
    } catch (const std::exception& error) {
      // No memory, no device: it is told, and tried again. What was half read is of no use.
      follower_.start_anew();
      restarted_ = true;
      try {
        view.notice(core::sentence_of(error));
        publish(view);
      } catch (const std::exception&) {
        // The next round tells it.
      }
      more = false;
    }
    std::unique_lock lock(mutex_);
    if (!more) wake_.wait_for(lock, stop, kInterval, [this] { return answered_; });
    answered = std::exchange(answered_, false);
    to_tell = std::exchange(to_tell_, {});
  }
}

/// True if there is more to be read.
bool RunSource::read(RunView& view) {
  const bool curves = reads_ == Reads::curves;
  std::optional<Turn> turn;
  if (curves) turn.emplace();
  RunUpdate update = follower_.poll(kMostBytes);
  turn.reset();
  restarted_ = restarted_ || update.restarted;
  // What is read anew from the start is told only once it is all there, but where nobody keeps it that long.
  if (update.more && restarted_ && !curves) return true;
  update.restarted = restarted_;
  const bool changed = view.look(follower_.run(), update, Liveness::Clock::now());
  restarted_ = false;
  if (curves) follower_.keep_last();
  if (changed) publish(view);
  return update.more;
}

void RunSource::publish(RunView& view) {
  auto next = std::make_shared<training::Snapshot>(view.snapshot());
  const std::vector<training::FeedItem> items = view.take_items();
  const std::lock_guard lock(mutex_);
  next->answers = answers_;
  published_ = std::move(next);
  exchange_ = view.images();
  image_history_ = view.history();
  std::erase_if(feeds_, [](const std::weak_ptr<training::Feed>& feed) { return feed.expired(); });
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(items);
  }
  if (reads_ == Reads::curves && !feeds_.empty()) return;
  for (const training::FeedItem& item : items) {
    if (begins_anew(item)) history_.clear();
    const bool told = !feeds_.empty() && holds_view(item);
    if (!told) history_.push_back(item);  // who has taken views keeps them within a budget
  }
}

}  // namespace warpscope::runs
