#include "gpu/remote/remote_source.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <typeindex>
#include <utility>
#include <vector>

namespace warpscope::remote {

using training::DataPart;
using training::DataView;
using training::Feed;
using training::ImageExchange;
using training::ImageHistory;
using training::OneImage;

/// What was told last, and what is to be asked.
class RemoteSource::Told {
 public:
  explicit Told(KnownBefore before)
      : snapshot_(std::move(before.snapshot)), history_(std::move(before.history)) {
    seen_.images_arrived = before.images_arrived;
  }

  void take(Update update) {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(update.snapshot);
    left_ = std::move(update.left);
    const std::uint64_t arrived = seen_.images_arrived + update.images.size();
    seen_ = std::move(update.seen);
    seen_.images_arrived = arrived;
    for (auto& [asked, image] : update.images) images_.insert_or_assign(asked, std::move(image));
    jobs_ = std::move(update.jobs);
    if (update.shown) show(*update.shown);
    if (!update.past.empty() && !history_) history_ = std::make_shared<ImageHistory>();
    for (const training::ShownImages& images : update.past) history_->add(images);
    std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
    for (const auto& feed : feeds_) {
      if (const auto alive = feed.lock()) alive->push(update.items);
    }
    if (!subscribed_) items_.insert(items_.end(), update.items.begin(), update.items.end());
  }
  std::optional<OneImage> image(const AskedImage& asked) {
    const std::lock_guard lock(mutex_);
    if (const auto found = images_.find(asked); found != images_.end()) return found->second;
    if (asked_.insert(asked).second) ask_locked(asked);
    return std::nullopt;
  }
  void ask(Request what) {
    const std::lock_guard lock(mutex_);
    ask_locked(std::move(what));
  }
  /// Waits for something to ask; nothing at the end.
  std::optional<Request> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return ended_ || !queue_.empty(); });
    if (queue_.empty()) return std::nullopt;
    Request what = std::move(queue_.front());
    queue_.pop_front();
    return what;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wake_.notify_all();
  }
  std::shared_ptr<Feed> subscribe() {
    auto feed = std::make_shared<Feed>();
    const std::lock_guard lock(mutex_);
    feed->push(std::exchange(items_, {}));
    subscribed_ = true;
    feeds_.push_back(feed);
    return feed;
  }
  void feed(const std::shared_ptr<Feed>& feed) {
    const std::lock_guard lock(mutex_);
    subscribed_ = true;
    feeds_.push_back(feed);
  }
  auto snapshot() const { return locked(snapshot_); }
  auto seen() const { return locked(seen_); }
  auto jobs() const { return locked(jobs_); }
  auto images() const { return locked(exchange_); }
  auto history() const { return locked(history_); }
  auto left() const { return locked(left_); }

 private:
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  void ask_locked(Request what) {
    queue_.push_back(std::move(what));
    wake_.notify_all();
  }
  void show(const training::ShownImages& images) {
    if (!exchange_ || !(exchange_->shape() == images.shape)) {
      const auto device = core::open_device("cpu");
      exchange_ = std::make_shared<ImageExchange>(device, images.shape);
      stream_ = device->make_stream();
    }
    training::ImageSlot& slot = exchange_->begin_write(*stream_);
    std::memcpy(slot.original.data(), images.original.data(), slot.original.bytes());
    std::memcpy(slot.reconstruction.data(), images.reconstruction.data(), slot.reconstruction.bytes());
    std::memcpy(slot.errors.data(), images.errors.data(), slot.errors.bytes());
    slot.step = images.step;
    exchange_->publish(*stream_);
  }

  mutable std::mutex mutex_;  ///< of everything below
  std::condition_variable wake_;
  std::shared_ptr<const training::Snapshot> snapshot_;
  training::Observations seen_;
  std::vector<training::FeedItem> items_;  ///< until somebody has subscribed
  bool subscribed_ = false;
  std::vector<std::weak_ptr<Feed>> feeds_;
  std::shared_ptr<ImageExchange> exchange_;
  std::unique_ptr<core::Stream> stream_;
  std::shared_ptr<ImageHistory> history_;
  std::map<AskedImage, OneImage> images_;
  jobs::States jobs_;
  Left left_;
  std::set<AskedImage> asked_;
  std::deque<Request> queue_;
  bool ended_ = false;
};

RemoteSource::RemoteSource(const Channel& channel, KnownBefore before)
    : channel_(channel), told_(std::make_shared<Told>(std::move(before))), writer_([this] { write(); }) {}

RemoteSource::~RemoteSource() {
  end();
}

void RemoteSource::end() {
  told_->end();
}

void RemoteSource::follow(const std::function<void()>& taken) {
  training::MessageReader reader;
  reader.made = [told = std::weak_ptr<Told>(told_)](std::type_index type, void* object,
                                                    std::uint64_t number) {
    if (type != std::type_index(typeid(DataView))) return;
    static_cast<DataView*>(object)->fetch = [told, number](DataPart part, std::int64_t image) {
      const auto alive = told.lock();
      return alive ? alive->image({number, part, image}) : std::nullopt;
    };
  };
  while (const auto message = channel_.read()) {
    told_->take(reader.read<Update>(*message));
    taken();
  }
}

void RemoteSource::write() {
  training::MessageWriter writer;
  while (const auto what = told_->next()) {
    if (!channel_.write(writer.write(*what))) return;
  }
  channel_.end_writing();
}

std::shared_ptr<const training::Snapshot> RemoteSource::snapshot() const {
  return told_->snapshot();
}
std::shared_ptr<Feed> RemoteSource::subscribe() {
  return told_->subscribe();
}
void RemoteSource::feed(const std::shared_ptr<Feed>& feed) {
  told_->feed(feed);
}
std::shared_ptr<ImageExchange> RemoteSource::images() const {
  return told_->images();
}
std::shared_ptr<const ImageHistory> RemoteSource::history() const {
  return told_->history();
}
training::Observations RemoteSource::observations() const {
  return told_->seen();
}
Left RemoteSource::left() const {
  return told_->left();
}
void RemoteSource::ask(jobs::Request request) {
  told_->ask(std::move(request));
}
jobs::States RemoteSource::states() const {
  return told_->jobs();
}
void RemoteSource::queue(training::Command command, std::uint64_t number) {
  told_->ask(training::NumberedCommand{std::move(command), number});
}

}  // namespace warpscope::remote
