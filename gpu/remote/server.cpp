#include "gpu/remote/server.h"

#include <chrono>
#include <cstddef>
#include <span>

#include "gpu/core/error.h"

namespace warpscope::remote {
namespace {

constexpr std::chrono::milliseconds kServerLook(2);
constexpr std::size_t kMostPast = 4;  ///< pictures of earlier steps in a message

}  // namespace

Server::Server(std::shared_ptr<training::Source> source, const Channel& channel, std::function<Left()> left)
    : source_(std::move(source)), channel_(channel), left_(std::move(left)), feed_(source_->subscribe()) {}

void Server::serve() {
  do {
    if (!channel_.readable(kServerLook)) continue;
    const auto message = channel_.read();
    if (!message) break;
    auto asked = reader_.read<Request>(*message);
    std::visit([this](auto& what) { take(what); }, asked);
  } while (tell());
  tell();  // what came of the last requests
}

void Server::take(training::NumberedCommand& asked) {
  source_->send(std::move(asked.command), asked.number);
}

void Server::take(jobs::Request& request) {
  source_->jobs()->ask(std::move(request));
}

void Server::take(const AskedImage& asked) {
  const auto data = writer_.find<training::DataView>(asked.data);
  if (auto image = data ? data->image(asked.part, asked.number) : std::nullopt)
    images_.emplace_back(asked, *image);
}

/// False once nobody listens.
bool Server::tell() {
  Update update;
  if (left_)
    update.left = left_();  // before the snapshot: what is handed over comes no earlier than its state
  update.snapshot = source_->snapshot();
  if (left_)
    update.left.parameters = left_().parameters;  // after it: the end comes no earlier than its weights
  update.seen = source_->observations();
  update.items = feed_->take();
  update.shown = shown();
  update.past = past();
  update.images = std::exchange(images_, {});
  update.jobs = source_->jobs()->states();
  const bool news = update.snapshot != snapshot_ || !(update.seen == seen_) || !update.items.empty() ||
                    update.shown || !update.past.empty() || !update.images.empty() ||
                    !(update.jobs == jobs_) || !(update.left == told_);
  if (!news) return true;
  snapshot_ = update.snapshot;
  seen_ = update.seen;
  jobs_ = update.jobs;
  told_ = update.left;
  return channel_.write(writer_.write(update));
}

std::optional<training::ShownImages> Server::shown() {
  const auto exchange = source_->images();
  try {
    const training::ImageSlot* const slot = exchange ? exchange->acquire() : nullptr;
    if (slot == nullptr || (exchange == exchange_ && slot->number == shown_)) return std::nullopt;
    if (exchange != exchange_) {
      exchange->device()->make_current();
      stream_ = exchange->device()->make_stream();
    }
    exchange_ = exchange;
    shown_ = slot->number;
    return copy_of(*slot);
  } catch (const core::Error&) {
    return std::nullopt;  // pictures are not worth a training, and the trainer finds what ends that
  }
}

/// Wherever its pictures lie.
training::ShownImages Server::copy_of(const training::ImageSlot& slot) {
  const auto fetched = [this](const core::Buffer& buffer) {
    return core::download<float>(*stream_, buffer.data(), buffer.bytes() / sizeof(float));
  };
  const std::span errors(slot.errors.as<const float>(), slot.errors.bytes() / sizeof(float));
  training::ShownImages images{exchange_->shape(),
                               slot.step,
                               0,
                               fetched(slot.original),
                               fetched(slot.reconstruction),
                               {errors.begin(), errors.end()}};
  stream_->record(*slot.read);
  return images;
}

std::vector<training::ShownImages> Server::past() {
  std::vector<training::ShownImages> images;
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

}  // namespace warpscope::remote
