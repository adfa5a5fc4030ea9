#include "gpu/inference/ranks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/core/phases.h"
#include "gpu/core/require.h"
#include "gpu/data/requirements.h"
#include "gpu/files/streams.h"
#include "gpu/inference/rank_report.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/ranks/gather.h"

namespace warpscope::inference {
namespace {

using ranks::Group;
using training::MessageReader;
using training::MessageWriter;

/// The first message of rank 0; the weights follow.
struct RankBeginning {
  std::string version;  ///< of the program
  Question question;
  std::int64_t images = 0;
  std::string fingerprint;
  bool on_gpus = false;
};

/// Images of a rank that has none itself: a batch, or at the end what was not read.
struct SentBatch {
  std::vector<std::int64_t> images = {};
  std::vector<std::uint8_t> pixels = {};
  std::vector<std::string> refused = {};
  std::uint64_t turned = 0;
  bool last = false;
};

template <class T>
void send(Group& group, const T& message) {
  const std::string text = MessageWriter().write(message);
  group.send(std::as_bytes(std::span(text)));
}

std::string_view text_of(const std::vector<std::byte>& message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}

template <class T>
T received(Group& group) {
  return MessageReader().read<T>(text_of(group.receive()));
}

class SentImages : public ImageSource {
 public:
  explicit SentImages(std::int64_t count) : count_(count) {}

  void add(SentBatch batch) {
    if (batch.last) {
      refused_ = std::move(batch.refused);
      turned_ = batch.turned;
    } else {
      batches_.push_back(std::move(batch));
    }
  }
  std::vector<ImageName> read(int most, std::uint8_t* pixels) override {
    std::vector<ImageName> names;
    if (batches_.empty()) return names;
    const SentBatch batch = std::move(batches_.front());
    batches_.pop_front();
    core::require(std::cmp_less_equal(batch.images.size(), most), "rank 0 sent {} images at once, not {}",
                  batch.images.size(), most);
    std::memcpy(pixels, batch.pixels.data(), batch.pixels.size());
    for (const std::int64_t index : batch.images) names.push_back({index, {}});
    return names;
  }
  std::int64_t count() const override { return count_; }
  std::string title() const override { return "images that rank 0 sent"; }
  std::vector<std::string> refused() const override { return refused_; }
  std::size_t turned() const override { return turned_; }

 private:
  std::int64_t count_;
  std::deque<SentBatch> batches_;
  std::vector<std::string> refused_;
  std::size_t turned_ = 0;
};

/// All ranks come here when their `work` is done, and wait for each other. Where it throws on one it throws on all: what
/// `work` threw here, or what another rank met. `told` becomes whether rank 0 knows of that.
void settled(Group& group, std::string purpose, bool& told, const std::function<void()>& work) {
  group.note_purpose(std::move(purpose));
  std::exception_ptr failure;
  std::string sentence;
  try {
    work();
  } catch (const ranks::RankMissing&) {
    throw;
  } catch (const std::exception& error) {
    failure = std::current_exception();
    sentence = core::sentence_of(error);
  }
  const std::vector<std::string> all = ranks::gathered_texts(group, sentence);
  told = std::ranges::any_of(all, [](const std::string& each) { return !each.empty(); });
  if (failure) std::rethrow_exception(failure);
  ranks::refuse_first(all);
}

/// Rank 0 tells the others to read no more: once, when it is asked to or at its end.
class StopOrder {
 public:
  explicit StopOrder(std::unique_ptr<Group> group) : group_(std::move(group)) {}
  ~StopOrder() { give(); }
  StopOrder(const StopOrder&) = delete;
  StopOrder& operator=(const StopOrder&) = delete;

  void give() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(given_, true)) return;
    try {
      group_->send(std::vector<std::byte>(1));
    } catch (...) {
      // They have ended, or will when this process does.
    }
  }

 private:
  std::unique_ptr<Group> group_;
  std::mutex mutex_;
  bool given_ = false;
};

/// Another rank hears it, or that rank 0 has ended.
class StopListener {
 public:
  explicit StopListener(std::unique_ptr<Group> group)
      : group_(std::move(group)), listener_([this] {
          try {
            group_->receive();
          } catch (...) {
            // Whoever is missing is missing in the next call of the other group too.
          }
          stopped_ = true;
        }) {}

  bool stopped() const { return stopped_; }

 private:
  std::unique_ptr<Group> group_;
  std::atomic<bool> stopped_{false};
  std::jthread listener_;  ///< the last one, so that it ends first
};

std::int64_t image_bytes_of(const models::Model& model) {
  return std::int64_t{model.height} * model.width * model.channels;
}

/// The ranks that said why they cannot read their images themselves.
std::vector<int> in_need(const std::vector<std::string>& reasons) {
  std::vector<int> found;
  for (std::size_t rank = 0; rank < reasons.size(); ++rank) {
    if (!reasons[rank].empty()) found.push_back(static_cast<int>(rank));
  }
  return found;
}

/// Throws where so many bytes are out of proportion.
void check_proportion(const RankBeginning& beginning, const std::vector<std::string>& reasons,
                      const std::vector<int>& needy, int size) {
  const Question& question = beginning.question;
  std::int64_t images = 0;
  for (const int rank : needy) {
    const Piece piece = piece_of(beginning.images, question.batch, {rank, size});
    images += piece.end - piece.begin;
  }
  if (images <= kMostSentBytes / image_bytes_of(question.model)) return;
  const auto first = static_cast<std::size_t>(needy.front());
  throw core::BadInput(
      fmt::format("rank {} cannot read what rank 0 reads, and {} images are too many to send: {}",
                  needy.front(), images, reasons[first]));
}

/// Rank 0 reads what others need and sends it.
void hand_out(Group& group, const RankBeginning& beginning, DividedSource& source,
              const std::vector<int>& needy) {
  const Question& question = beginning.question;
  const std::int64_t bytes = image_bytes_of(question.model);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(question.batch * bytes));
  for (const int rank : needy) {
    const Piece piece = piece_of(beginning.images, question.batch, {rank, group.place().size});
    source.take_part(piece.begin, piece.end);
    for (;;) {
      const std::vector<ImageName> names = source.read(question.batch, pixels.data());
      if (names.empty()) break;
      SentBatch batch;
      for (const ImageName& name : names) batch.images.push_back(name.index);
      const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(names.size()) * bytes;
      batch.pixels.assign(pixels.begin(), pixels.begin() + end);
      send(group, batch);
    }
    send(group, SentBatch{.refused = source.refused(), .turned = source.turned(), .last = true});
  }
}

/// Another rank gets its own and passes over those of the others.
std::unique_ptr<SentImages> take_out(Group& group, const std::vector<int>& needy, const Piece& mine) {
  std::unique_ptr<SentImages> taken;
  for (const int rank : needy) {
    const bool own = rank == group.place().rank;
    if (own) taken = std::make_unique<SentImages>(mine.end - mine.begin);
    for (bool last = false; !last;) {
      auto batch = received<SentBatch>(group);
      last = batch.last;
      if (own) taken->add(std::move(batch));
    }
  }
  return taken;
}

/// A rank that another one leads.
class Follower {
 public:
  Follower(ranks::Meeting& meeting, bool& told)
      : meeting_(meeting), told_(told), orders_(meeting.group(ranks::kOrders, {})) {}

  void begin(const std::string& device);
  void answer();

 private:
  void open(const std::string& device);
  /// Why the images of rank 0 cannot be had here; "" where they can.
  std::string open_source();

  ranks::Meeting& meeting_;
  bool& told_;
  std::unique_ptr<Group> orders_;
  RankBeginning beginning_;
  Piece piece_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<Inference> network_;  ///< nullptr where there is nothing to answer
  std::unique_ptr<ImageSource> source_;
};

void Follower::open(const std::string& device) {
  // Both messages first: who refuses comes to the others with nothing left unread.
  const std::vector<std::byte> first = orders_->receive();
  const std::vector<std::byte> weights = orders_->receive();
  beginning_ = MessageReader().read<RankBeginning>(text_of(first));
  if (beginning_.version != WARPSCOPE_VERSION) {
    throw core::BadInput(
        fmt::format("this is Warpscope {}, and rank 0 is {}", WARPSCOPE_VERSION, beginning_.version));
  }
  const Question& question = beginning_.question;
  std::vector<float> parameters(weights.size() / sizeof(float));
  std::memcpy(parameters.data(), weights.data(), parameters.size() * sizeof(float));
  const auto rank = static_cast<std::size_t>(orders_->place().rank);
  device_ = core::open_device(device.empty() ? question.devices.at(rank) : device);
  if ((device_->kind() == core::DeviceKind::cuda) != beginning_.on_gpus) {
    throw core::BadInput(fmt::format("this rank answers on {}, and rank 0 on a {}", device_->info().name,
                                     beginning_.on_gpus ? "GPU" : "CPU"));
  }
  device_->make_current();
  stream_ = device_->make_stream();
  piece_ = piece_of(beginning_.images, question.batch, orders_->place());
  if (piece_.begin == piece_.end) return;
  network_ = std::make_unique<Inference>(question.model, parameters, question.selection, question.batch,
                                         device_, *stream_, question.views);
}

std::string Follower::open_source() {
  if (!network_) return "";
  const Question& question = beginning_.question;
  try {
    std::string notice;  // rank 0 tells it
    auto source = open_images(question.data, data::requirements_of(question.model), question.classes, notice);
    if (source->count() != beginning_.images || source->fingerprint() != beginning_.fingerprint)
      return "it finds others there";
    source->take_part(piece_.begin, piece_.end);
    source_ = std::move(source);
    return "";
  } catch (const std::exception& error) {
    return core::sentence_of(error);
  }
}

void Follower::begin(const std::string& device) {
  settled(*orders_, "the beginning of the inference", told_, [&] { open(device); });
  const std::vector<std::string> reasons = ranks::gathered_texts(*orders_, open_source());
  settled(*orders_, "the images of each rank", told_, [] {});
  auto sent = take_out(*orders_, in_need(reasons), piece_);
  if (sent) source_ = std::move(sent);
}

void Follower::answer() {
  const StopListener listener(std::move(orders_));
  const auto group = meeting_.group(ranks::kSums, {});
  settled(*group, "the first batch", told_, [&] {
    if (network_) network_->warm_up();
  });
  Findings findings;
  settled(*group, "the end of its images", told_, [&] {
    const auto go_on = [&](std::int64_t /*answers*/) { return !listener.stopped(); };
    if (network_) findings = network_->find(*source_, go_on, beginning_.question.pace);
  });
  group->note_purpose("the answers");
  const std::string report = MessageWriter().write(report_of(findings, device_->info().name));
  ranks::collected(*group, std::as_bytes(std::span(report)));
}

/// `go_on`, which ends all ranks where it says no, and now and then whether all are still there.
Inference::GoOn watched(const Inference::GoOn& go_on, const ranks::Meeting& meeting, StopOrder& order) {
  constexpr double kLookSeconds = 0.1;
  return [&, last = core::Clock::now()](std::int64_t answers) mutable {
    if (core::seconds_since(last) > kLookSeconds) {
      last = core::Clock::now();
      if (const std::string missing = meeting.missing(); !missing.empty())
        throw core::Error(fmt::format("{}; it was to come to the end of its images", missing));
    }
    if (!go_on || go_on(answers)) return true;
    order.give();
    return false;
  };
}

/// Puts what the others found behind what rank 0 has found, and tells who did how much.
std::vector<RankShare> join(Findings& all, const std::string& device, const DividedSource& source,
                            const std::vector<std::vector<std::byte>>& messages) {
  std::vector<RankShare> shares{share_of(all, device)};
  for (std::size_t rank = 1; rank < messages.size(); ++rank) {
    auto report = MessageReader().read<RankReport>(text_of(messages[rank]));
    shares.push_back(report.share);
    add(std::move(report), source, all);
  }
  return shares;
}

/// Rank 0 once all have begun.
class Leader {
 public:
  Leader(ranks::Meeting& meeting, const RankBeginning& beginning, DividedSource& source, Inference& network)
      : meeting_(meeting), beginning_(beginning), source_(source), network_(network) {}

  void share_images(Group& orders) const;
  Outcome answer(StopOrder& order, const Inference::GoOn& go_on, const std::string& device) const;

 private:
  ranks::Meeting& meeting_;
  const RankBeginning& beginning_;
  DividedSource& source_;
  Inference& network_;
};

void Leader::share_images(Group& orders) const {
  const std::vector<std::string> reasons = ranks::gathered_texts(orders, "");
  const std::vector<int> needy = in_need(reasons);
  bool told = false;
  settled(orders, "the images of each rank", told, [&] {
    if (!needy.empty()) check_proportion(beginning_, reasons, needy, orders.place().size);
  });
  hand_out(orders, beginning_, source_, needy);
  const Piece mine = piece_of(beginning_.images, beginning_.question.batch, orders.place());
  source_.take_part(mine.begin, mine.end);
}

Outcome Leader::answer(StopOrder& order, const Inference::GoOn& go_on, const std::string& device) const {
  bool told = false;
  const auto group = meeting_.group(ranks::kSums, {});
  settled(*group, "the first batch", told, [&] { network_.warm_up(); });
  Findings all;
  try {
    settled(*group, "the end of its images", told,
            [&] { all = network_.find(source_, watched(go_on, meeting_, order), beginning_.question.pace); });
  } catch (const core::BadInput& error) {
    throw core::Error(error.what());  // it is no input that failed so late
  }
  const auto end = core::Clock::now();
  group->note_purpose("the answers");
  const auto messages = ranks::collected(*group, {});
  const double gathering = core::seconds_since(end);
  std::vector<RankShare> shares = join(all, device, source_, messages);
  for (const RankShare& share : shares) all.seconds = std::max(all.seconds, share.seconds);
  all.seconds += gathering;
  if (all.answers.empty() && !all.interrupted) refuse_all(all.refused, source_.title());
  Outcome outcome = network_.conclude(std::move(all));
  outcome.ranks = std::move(shares);
  return outcome;
}

}  // namespace

Piece piece_of(std::int64_t images, int batch, const ranks::Place& place) {
  const std::int64_t batches = (images + batch - 1) / batch;
  const auto first = [&](std::int64_t rank) {  // rounded up: if some have none, the last ones
    return std::min(images, (batches * rank + place.size - 1) / place.size * batch);
  };
  return {first(place.rank), first(place.rank + 1)};
}

Outcome lead(ranks::Meeting& meeting, const Question& question, std::span<const float> parameters,
             const std::shared_ptr<core::Device>& device, core::Stream& stream, DividedSource& source,
             const Inference::GoOn& go_on, const std::stop_token& stop) {
  auto orders = meeting.group(ranks::kOrders, {});
  const bool on_gpus = device->kind() == core::DeviceKind::cuda;
  const RankBeginning beginning{WARPSCOPE_VERSION, question, source.count(), source.fingerprint(), on_gpus};
  send(*orders, beginning);
  orders->send(std::as_bytes(parameters));
  std::unique_ptr<Inference> network;
  bool told = false;
  settled(*orders, "the beginning of the inference", told, [&] {
    network = std::make_unique<Inference>(question.model, parameters, question.selection, question.batch,
                                          device, stream, question.views);
  });
  const Leader leader(meeting, beginning, source, *network);
  leader.share_images(*orders);
  StopOrder order(std::move(orders));
  const std::stop_callback stops(stop, [&] { order.give(); });
  return leader.answer(order, go_on, device->info().name);
}

int follow(ranks::Meeting& meeting, const std::string& device) {
  bool told = false;
  try {
    Follower follower(meeting, told);
    follower.begin(device);
    follower.answer();
    return 0;
  } catch (const ranks::RankMissing&) {
    meeting.leave_after_others();
    return ranks::kOthersMissing;  // rank 0 tells it
  } catch (const std::exception& error) {
    if (!told) files::warn(core::sentence_of(error));
    return 1;
  }
}

}  // namespace warpscope::inference
