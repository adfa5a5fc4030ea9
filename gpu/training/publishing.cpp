#include "gpu/training/publishing.h"

#include "gpu/files/text.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(16);
constexpr std::size_t kMostHistory = 100'000;  ///< items for who may subscribe yet

}  // namespace

std::shared_ptr<const Snapshot> Publishing::snapshot() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

std::shared_ptr<Feed> Publishing::subscribe() {
  const std::lock_guard lock(mutex_);
  subscribed_ = true;
  return add_feed();
}

std::shared_ptr<Feed> Publishing::subscribe_recorder() {
  const std::lock_guard lock(mutex_);
  auto feed = add_feed();
  recorder_ = feed;
  return feed;
}

std::shared_ptr<Feed> Publishing::add_feed() {
  auto feed = std::make_shared<Feed>();
  feed->push(history_);
  feeds_.push_back(feed);
  return feed;
}

void Publishing::tell_again(const std::vector<FeedItem>& items) {
  const std::lock_guard lock(mutex_);
  const auto recorder = recorder_.lock();
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock(); alive && alive != recorder) alive->push(items);
  }
}

std::shared_ptr<ImageExchange> Publishing::images() const {
  const std::lock_guard lock(mutex_);
  return images_;
}

Observations Publishing::observations() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

Ending Publishing::ending() const {
  const std::lock_guard lock(mutex_);
  return ending_;
}

bool Publishing::wait_until(const std::function<bool(const Snapshot&)>& condition, double seconds) const {
  const auto end =
      steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(duration<double>(seconds));
  while (true) {
    const auto seen = snapshot();
    if (condition(*seen)) return true;  // without the lock: it may send commands
    std::unique_lock lock(mutex_);
    if (!newer_.wait_until(lock, end, [&] { return published_ != seen; })) return false;
  }
}

void Publishing::notice(const std::string& text) {
  view.notice = files::sayable(text);
  ++view.notice_id;
}

void Publishing::log(LogLevel level, const std::string& text) {
  emit(LogLine{level, files::sayable(text)});
}

void Publishing::log_at_once(LogLevel level, const std::string& text) {
  const std::vector<FeedItem> line{LogLine{level, files::sayable(text)}};
  const std::lock_guard lock(mutex_);
  for (const auto& feed : feeds_) {
    if (const auto alive = feed.lock()) alive->push(line);
  }
  if (!subscribed_) history_.push_back(line.front());
}

void Publishing::set_awaited(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (awaited_ == text) return;
  awaited_ = text;
  auto next = std::make_shared<Snapshot>(*published_);
  next->awaited = text;
  published_ = std::move(next);
  newer_.notify_all();
}

void Publishing::tell(const std::string& text, LogLevel level) {
  notice(text);
  log(level, text);
}

void Publishing::mark(std::uint64_t step, const std::string& text, const std::string& logged, bool anew) {
  emit(Marker{step, view.seconds, text, anew});
  log(LogLevel::info, logged);
}

void Publishing::note(const FeedItem& item) {
  tally_.note(item);
  if (kept_) kept_->note(item);
}

void Publishing::emit(FeedItem item) {
  note(item);
  unsent_.push_back(std::move(item));
}

bool Publishing::due(steady_clock::time_point now) const {
  return now - last_ >= kInterval;
}

void Publishing::publish(steady_clock::time_point now) {
  last_ = now;
  view.figures = tally_.figures();
  auto next = std::make_shared<Snapshot>(view);
  const std::lock_guard lock(mutex_);
  next->awaited = awaited_;
  published_ = std::move(next);
  send_unsent();
  newer_.notify_all();
}

void Publishing::send() {
  const std::lock_guard lock(mutex_);
  send_unsent();
}

void Publishing::send_to_recorder() {
  const std::lock_guard lock(mutex_);
  if (const auto recorder = recorder_.lock()) recorder->push(unrecorded());
  recorded_ = unsent_.size();
}

void Publishing::drop_unsent() {
  unsent_.clear();
  recorded_ = 0;
}

std::vector<FeedItem> Publishing::unrecorded() const {
  return {unsent_.begin() + static_cast<std::ptrdiff_t>(recorded_), unsent_.end()};
}

void Publishing::send_unsent() {
  std::erase_if(feeds_, [](const std::weak_ptr<Feed>& feed) { return feed.expired(); });
  const auto recorder = recorder_.lock();
  for (const auto& feed : feeds_) {
    const auto alive = feed.lock();
    if (!alive) continue;
    if (alive == recorder && recorded_ > 0) {
      alive->push(unrecorded());
    } else {
      alive->push(unsent_);
    }
  }
  subscribed_ = subscribed_ || history_.size() >= kMostHistory;
  if (view.step > 0 && subscribed_) {
    history_.clear();
  } else {
    history_.insert(history_.end(), unsent_.begin(), unsent_.end());
  }
  drop_unsent();
}

void Publishing::show(Observations seen) {
  const std::lock_guard lock(mutex_);
  seen_ = std::move(seen);
}

void Publishing::offer(std::shared_ptr<ImageExchange> images) {
  const std::lock_guard lock(mutex_);
  images_ = std::move(images);
}

void Publishing::end_with(std::vector<float> parameters) {
  auto weights = std::make_shared<const std::vector<float>>(std::move(parameters));
  const std::lock_guard lock(mutex_);
  ending_.parameters = std::move(weights);
}

void Publishing::end_with(std::vector<core::PhaseTime> phases) {
  const std::lock_guard lock(mutex_);
  ending_.phases = std::move(phases);
}

void Publishing::end_with(std::shared_ptr<const HandOver> hand_over) {
  const std::lock_guard lock(mutex_);
  ending_.hand_over = std::move(hand_over);
}

}  // namespace warpscope::training
