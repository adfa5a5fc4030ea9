#include "tests/support/pipe_source.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include "gpu/jobs/bytes_of_jobs.h"

namespace warpscope::tests {
namespace {

using training::Command;
using training::DataPart;
using training::DataView;
using training::FeedItem;
using training::ImageExchange;
using training::ImageHistory;
using training::MessageHead;
using training::NumberedCommand;
using training::Observations;
using training::OneImage;
using training::ShownImages;
using training::Snapshot;

constexpr int kLookMilliseconds = 2;
constexpr std::size_t kMostPast = 4;  ///< pictures of earlier steps in a message

struct AskedImage {
  std::uint64_t data = 0;  ///< the number under which its DataView was sent
  DataPart part = DataPart::test;
  std::int64_t number = 0;

  auto operator<=>(const AskedImage&) const = default;
};
using ToSource = std::variant<NumberedCommand, AskedImage, jobs::Request>;

/// What has changed since the one before. What is shared is sent once, so that what has not changed costs its number.
struct Update {
  std::shared_ptr<const Snapshot> snapshot;
  Observations seen;
  std::vector<FeedItem> items;
  std::optional<ShownImages> shown;
  std::vector<ShownImages> past;  ///< for the history
  std::vector<std::pair<AskedImage, OneImage>> images;
  jobs::States jobs;
};

/// One direction.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) std::abort();
  }
  ~Pipe() {
    close_writing();
    ::close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_writing() {
    if (const int end = std::exchange(ends_[1], -1); end >= 0) ::close(end);
  }
  bool readable(int milliseconds) const {
    pollfd asked{ends_[0], POLLIN, 0};
    return ::poll(&asked, 1, milliseconds) > 0;
  }
  void write(const std::string& text) const {
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = ::write(ends_[1], text.data() + done, text.size() - done);
      if (count <= 0) std::abort();
      done += static_cast<std::size_t>(count);
    }
  }
  /// A whole message; nothing at the end.
  std::optional<std::string> read() const {
    std::string text(MessageHead::kBytes, '\0');
    if (!fill(text, 0)) return std::nullopt;
    text.resize(MessageHead::kBytes + MessageHead::read(text).length);
    return fill(text, MessageHead::kBytes) ? std::optional(std::move(text)) : std::nullopt;
  }

 private:
  bool fill(std::string& text, std::size_t done) const {
    while (done < text.size()) {
      const ssize_t count = ::read(ends_[0], text.data() + done, text.size() - done);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }
  std::array<int, 2> ends_{};
};

struct Pipes {
  Pipe to_source, from_source;
};

/// The side of the trainer: carries out what comes, and tells what is new.
class Server {
 public:
  Server(std::shared_ptr<training::Source> source, Pipes& pipes)
      : source_(std::move(source)), pipes_(pipes), feed_(source_->subscribe()) {}

  void serve() {
    while (true) {
      if (pipes_.to_source.readable(kLookMilliseconds)) {
        const auto message = pipes_.to_source.read();
        if (!message) break;
        ToSource asked = reader_.read<ToSource>(*message);
        std::visit([this](auto& what) { take(what); }, asked);
      }
      tell();
    }
    pipes_.from_source.close_writing();
  }

 private:
  void take(NumberedCommand& asked) { source_->send(std::move(asked.command), asked.number); }
  void take(jobs::Request& request) { source_->jobs()->ask(std::move(request)); }
  void take(const AskedImage& asked) {
    const auto data = writer_.find<DataView>(asked.data);
    if (auto image = data ? data->image(asked.part, asked.number) : std::nullopt)
      images_.emplace_back(asked, *image);
  }

  void tell() {
    Update update;
    update.snapshot = source_->snapshot();
    update.seen = source_->observations();
    update.items = feed_->take();
    update.shown = shown();
    update.past = past();
    update.images = std::exchange(images_, {});
    update.jobs = source_->jobs()->states();
    const bool news = update.snapshot != snapshot_ || !(update.seen == seen_) || !update.items.empty() ||
                      update.shown || !update.past.empty() || !update.images.empty() ||
                      !(update.jobs == jobs_);
    if (!news) return;
    snapshot_ = update.snapshot;
    seen_ = update.seen;
    jobs_ = update.jobs;
    pipes_.from_source.write(writer_.write(update));
  }
  std::optional<ShownImages> shown() {
    const auto exchange = source_->images();
    const training::ImageSlot* const slot = exchange ? exchange->acquire() : nullptr;
    if (slot == nullptr || (exchange == exchange_ && slot->number == shown_)) return std::nullopt;
    exchange_ = exchange;
    shown_ = slot->number;
    const auto floats = [](const auto& buffer) {
      const auto* const begin = static_cast<const float*>(buffer.data());
      return std::vector<float>(begin, begin + buffer.bytes() / sizeof(float));
    };
    return ShownImages{
        exchange->shape(),   slot->step, 0, floats(slot->original), floats(slot->reconstruction),
        floats(slot->errors)};
  }
  std::vector<ShownImages> past() {
    std::vector<ShownImages> images;
    const auto history = source_->history();
    if (!history || (history->version() == version_ && past_.contains(newest_))) return images;
    version_ = history->version();
    const std::vector<std::uint64_t> steps = history->steps();
    if (steps.empty()) return images;
    newest_ = steps.back();
    const auto newest = history->at(newest_);
    if (std::exchange(generation_, newest->generation) != newest->generation) past_.clear();
    past_.erase(past_.upper_bound(newest_), past_.end());
    for (const std::uint64_t step : steps) {
      if (images.size() == kMostPast) break;
      if (past_.insert(step).second) images.push_back(*history->at(step));
    }
    return images;
  }

  std::shared_ptr<training::Source> source_;
  Pipes& pipes_;
  std::shared_ptr<training::Feed> feed_;
  training::MessageReader reader_;
  training::MessageWriter writer_;
  std::shared_ptr<const Snapshot> snapshot_;
  Observations seen_;
  std::shared_ptr<ImageExchange> exchange_;
  std::uint64_t shown_ = 0, version_ = 0, newest_ = 0, generation_ = 0;
  std::set<std::uint64_t> past_;  ///< steps whose pictures were sent
  std::vector<std::pair<AskedImage, OneImage>> images_;
  jobs::States jobs_;
};

/// The side of the window: what was told last.
class Told {
 public:
  void take(Update update) {
    const std::lock_guard lock(mutex_);
    snapshot_ = std::move(update.snapshot);
    const std::uint64_t arrived = seen_.images_arrived + update.images.size();
    seen_ = std::move(update.seen);
    seen_.images_arrived = arrived;
    for (auto& [asked, image] : update.images) images_.insert_or_assign(asked, std::move(image));
    jobs_ = std::move(update.jobs);
    if (update.shown) show(*update.shown);
    if (!update.past.empty() && !history_) history_ = std::make_shared<ImageHistory>();
    for (const ShownImages& images : update.past) history_->add(images);
    std::erase_if(feeds_, [](const auto& feed) { return feed.expired(); });
    for (const auto& feed : feeds_) {
      if (const auto alive = feed.lock()) alive->push(update.items);
    }
    items_.insert(items_.end(), update.items.begin(), update.items.end());
  }
  std::optional<OneImage> image(const AskedImage& asked) {
    const std::lock_guard lock(mutex_);
    if (const auto found = images_.find(asked); found != images_.end()) return found->second;
    if (asked_.insert(asked).second) ask_locked(asked);
    return std::nullopt;
  }
  void ask(ToSource what) {
    const std::lock_guard lock(mutex_);
    ask_locked(std::move(what));
  }
  /// Waits for something to ask; nothing at the end.
  std::optional<ToSource> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return ended_ || !queue_.empty(); });
    if (queue_.empty()) return std::nullopt;
    ToSource what = std::move(queue_.front());
    queue_.pop_front();
    return what;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    wake_.notify_all();
  }
  std::shared_ptr<training::Feed> subscribe() {
    auto feed = std::make_shared<training::Feed>();
    const std::lock_guard lock(mutex_);
    feed->push(items_);
    feeds_.push_back(feed);
    return feed;
  }
  auto snapshot() const { return locked(snapshot_); }
  auto seen() const { return locked(seen_); }
  auto jobs() const { return locked(jobs_); }
  auto images() const { return locked(exchange_); }
  auto history() const { return locked(history_); }

 private:
  template <class T>
  T locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  void ask_locked(ToSource what) {
    queue_.push_back(std::move(what));
    wake_.notify_all();
  }
  void show(const ShownImages& images) {
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
  std::shared_ptr<const Snapshot> snapshot_ = std::make_shared<const Snapshot>();
  Observations seen_;
  std::vector<FeedItem> items_;
  std::vector<std::weak_ptr<training::Feed>> feeds_;
  std::shared_ptr<ImageExchange> exchange_;
  std::unique_ptr<core::Stream> stream_;
  std::shared_ptr<ImageHistory> history_;
  std::map<AskedImage, OneImage> images_;
  jobs::States jobs_;
  std::set<AskedImage> asked_;
  std::deque<ToSource> queue_;
  bool ended_ = false;
};

class PipeSource final : public training::Source, public jobs::Jobs {
 public:
  explicit PipeSource(std::shared_ptr<training::Source> served)
      : server_([this, served = std::move(served)]() mutable { Server(std::move(served), pipes_).serve(); }),
        reader_([this] { read(); }),
        writer_([this] { write(); }) {}
  ~PipeSource() override {
    told_->end();  // the writer closes its pipe, then the server its own, which ends the reader
  }
  std::shared_ptr<const Snapshot> snapshot() const override { return told_->snapshot(); }
  std::shared_ptr<training::Feed> subscribe() override { return told_->subscribe(); }
  std::shared_ptr<ImageExchange> images() const override { return told_->images(); }
  std::shared_ptr<const ImageHistory> history() const override { return told_->history(); }
  Observations observations() const override { return told_->seen(); }
  jobs::Jobs* jobs() override { return this; }
  void ask(jobs::Request request) override { told_->ask(std::move(request)); }
  jobs::States states() const override { return told_->jobs(); }

 private:
  void queue(Command command, std::uint64_t number) override {
    told_->ask(NumberedCommand{std::move(command), number});
  }
  void read() {
    training::MessageReader reader;
    reader.made = [told = std::weak_ptr<Told>(told_)](std::type_index type, void* object,
                                                      std::uint64_t number) {
      if (type != std::type_index(typeid(DataView))) return;
      static_cast<DataView*>(object)->fetch = [told, number](DataPart part, std::int64_t image) {
        const auto alive = told.lock();
        return alive ? alive->image({number, part, image}) : std::nullopt;
      };
    };
    while (const auto message = pipes_.from_source.read()) told_->take(reader.read<Update>(*message));
  }
  void write() {
    training::MessageWriter writer;
    while (const auto what = told_->next()) pipes_.to_source.write(writer.write(*what));
    pipes_.to_source.close_writing();
  }

  Pipes pipes_;
  std::shared_ptr<Told> told_ = std::make_shared<Told>();
  std::jthread server_, reader_, writer_;
};

}  // namespace

std::shared_ptr<training::Source> through_pipes(std::shared_ptr<training::Source> served) {
  return std::make_shared<PipeSource>(std::move(served));
}

}  // namespace warpscope::tests
