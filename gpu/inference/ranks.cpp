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
#include "gpu/inference/courier.h"
#include "gpu/inference/rank_report.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/ranks/gather.h"
#include "gpu/ranks/shared_region.h"

namespace warpscope::inference {
namespace {

using ranks::Group;
using training::MessageReader;
using training::MessageWriter;

constexpr std::size_t kNoMore = 1;  // bytes of the message that no question follows

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

/// Throws ranks::RankMissing where rank 0 could not read on: it tells why itself.
SentBatch received_batch(Group& group) {
  const std::vector<std::byte> message = group.receive();
  if (message.size() <= kNoMore) throw ranks::RankMissing("rank 0 sends no more images", {0});
  return MessageReader().read<SentBatch>(text_of(message));
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

/// All ranks come here when their `work` is done, and wait for each other. Where it throws on one it throws on all:
/// what `work` threw here, or what another rank met. `told` becomes whether rank 0 knows of that.
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
  explicit StopOrder(Group& group) : group_(group) {}
  ~StopOrder() { give(); }
  StopOrder(const StopOrder&) = delete;
  StopOrder& operator=(const StopOrder&) = delete;

  void give() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(given_, true)) return;
    try {
      group_.send(std::vector<std::byte>(1));
    } catch (...) {
      // They have ended, or will when this process does.
    }
  }

 private:
  Group& group_;
  std::mutex mutex_;
  bool given_ = false;
};

/// Another rank hears it, or that rank 0 has ended.
class StopListener {
 public:
  explicit StopListener(Group& group)
      : listener_([this, &group] {
          try {
            group.receive();
          } catch (...) {
            // Whoever is missing is missing in the next call of the other group too.
          }
          stopped_ = true;
        }) {}

  bool stopped() const { return stopped_; }

 private:
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
      auto batch = received_batch(group);
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
      : told_(told), orders_(meeting.group(ranks::kOrders, {})), sums_(meeting.group(ranks::kSums, {})) {}

  /// Waits for the next question; false where there is none.
  bool asked();
  void begin(const std::string& device);
  void answer();

 private:
  void open(const std::string& device);
  /// Why the images of rank 0 cannot be had here; "" where they can.
  std::string open_source();

  bool& told_;
  std::unique_ptr<Group> orders_, sums_;
  std::vector<std::byte> asked_;
  RankBeginning beginning_;
  Piece piece_;
  std::shared_ptr<core::Device> device_;
  std::unique_ptr<core::Stream> stream_;
  std::unique_ptr<Inference> network_;  ///< nullptr where there is nothing to answer
  std::unique_ptr<ImageSource> source_;
  double scatter_ = 0;  ///< seconds
};

bool Follower::asked() {
  orders_->note_purpose("the beginning of the inference");
  asked_ = orders_->receive();
  return asked_.size() > kNoMore;
}

void Follower::open(const std::string& device) {
  // Before anything can be refused: who refuses comes to the others with nothing left unread.
  const std::vector<std::byte> weights = orders_->receive();
  network_.reset();
  source_.reset();
  scatter_ = 0;
  beginning_ = MessageReader().read<RankBeginning>(text_of(asked_));
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
  const auto begin = core::Clock::now();
  auto sent = take_out(*orders_, in_need(reasons), piece_);
  if (sent) scatter_ = core::seconds_since(begin);
  if (sent) source_ = std::move(sent);
}

void Follower::answer() {
  const StopListener listener(*orders_);
  Group& group = *sums_;
  std::vector<Answer> room(static_cast<std::size_t>(piece_.end - piece_.begin));
  settled(group, "the first batch", told_, [&] {
    if (network_) network_->warm_up();
  });
  Findings findings;
  double gathering = 0;
  settled(group, "the end of its images", told_, [&] {
    Courier courier(group);
    const auto go_on = [&](std::int64_t /*answers*/) { return !listener.stopped(); };
    const auto taken = [&](std::span<const Answer> batch) { courier.give(batch); };
    try {
      if (network_) findings = network_->find(*source_, room, go_on, beginning_.question.pace, taken);
    } catch (...) {
      courier.give_up();  // else rank 0 goes on to its last image before it hears of that
      throw;
    }
    courier.finish();
    gathering = courier.seconds();
  });
  group.note_purpose("the figures");
  RankReport report = report_of(findings, device_->info().name);
  report.share.times.scatter = scatter_;
  report.share.times.gather = gathering;
  const std::string message = MessageWriter().write(report);
  ranks::collected(group, std::as_bytes(std::span(message)));
}

/// `go_on`, which ends all ranks where it says no or one of them has failed, and now and then whether all are still
/// there.
Inference::GoOn watched(const Inference::GoOn& go_on, const ranks::Meeting& meeting, const Courier& courier,
                        StopOrder& order) {
  constexpr double kLookSeconds = 0.1;
  return [&, last = core::Clock::now()](std::int64_t answers) mutable {
    if (core::seconds_since(last) > kLookSeconds) {
      last = core::Clock::now();
      if (const std::string missing = meeting.missing(); !missing.empty())
        throw core::Error(fmt::format("{}; it was to come to the end of its images", missing));
    }
    if (!courier.broken() && (!go_on || go_on(answers))) return true;
    order.give();
    return false;
  };
}

/// On rank 0: the answers of all, each where the piece of its rank begins.
class Collection {
 public:
  Collection(const RankBeginning& beginning, int size, const DividedSource& source)
      : source_(source), answers_(static_cast<std::size_t>(beginning.images)) {
    for (int rank = 0; rank < size; ++rank)
      pieces_.push_back(piece_of(beginning.images, beginning.question.batch, {rank, size}));
    counts_.resize(pieces_.size());
  }

  std::span<Answer> room(std::size_t rank) {
    const Piece& piece = pieces_[rank];
    const std::span all(answers_);
    return all
        .subspan(static_cast<std::size_t>(piece.begin), static_cast<std::size_t>(piece.end - piece.begin))
        .subspan(counts_[rank]);
  }
  void add(int rank, const AnswerNumbers& numbers) {
    const auto at = static_cast<std::size_t>(rank);
    make_answers(numbers, source_, room(at));
    counts_[at] += numbers.images.size();
  }
  /// One after the other, without gaps where images could not be read or nobody answered any more. `own`: answers of
  /// rank 0.
  std::vector<Answer> close(std::size_t own) {
    counts_.front() = own;
    auto end = answers_.begin();
    for (std::size_t rank = 0; rank < pieces_.size(); ++rank) {
      const auto begin = answers_.begin() + pieces_[rank].begin;
      const auto count = static_cast<std::ptrdiff_t>(counts_[rank]);
      end = begin == end ? end + count : std::move(begin, begin + count, end);
    }
    answers_.erase(end, answers_.end());
    return std::move(answers_);
  }

 private:
  const DividedSource& source_;
  std::vector<Answer> answers_;
  std::vector<Piece> pieces_;
  std::vector<std::size_t> counts_;
};

/// Puts what the others tell behind what rank 0 has found, and tells who did how much. `whole`: seconds from the
/// beginning of rank 0 until it had all answers.
std::vector<RankShare> join(Findings& all, RankShare own, double whole,
                            const std::vector<std::vector<std::byte>>& messages) {
  std::vector<RankShare> shares{std::move(own)};
  double last = all.seconds + all.aside, aside = all.aside;
  for (std::size_t rank = 1; rank < messages.size(); ++rank) {
    auto report = MessageReader().read<RankReport>(text_of(messages[rank]));
    all.seconds = std::max(all.seconds, report.share.seconds);
    if (const double end = report.share.seconds + report.aside; end > last) {
      last = end;
      aside = report.aside;
    }
    shares.push_back(report.share);
    add(std::move(report), all);
  }
  all.seconds = std::max(all.seconds, whole - aside);
  for (RankShare& share : shares) share.times.idle = std::max(0.0, all.seconds - share.times.device);
  return shares;
}

/// Rank 0 once all have begun.
class Leader {
 public:
  Leader(const ranks::Meeting& meeting, const RankBeginning& beginning, DividedSource& source,
         Inference& network)
      : meeting_(meeting), beginning_(beginning), source_(source), network_(network) {}

  void share_images(Group& orders);
  Outcome answer(Group& group, StopOrder& order, const Inference::GoOn& go_on,
                 const std::string& device) const;

 private:
  const ranks::Meeting& meeting_;
  const RankBeginning& beginning_;
  DividedSource& source_;
  Inference& network_;
  double scatter_ = 0;  ///< seconds
};

void Leader::share_images(Group& orders) {
  const std::vector<std::string> reasons = ranks::gathered_texts(orders, "");
  const std::vector<int> needy = in_need(reasons);
  bool told = false;
  settled(orders, "the images of each rank", told, [&] {
    if (!needy.empty()) check_proportion(beginning_, reasons, needy, orders.place().size);
  });
  const auto begin = core::Clock::now();
  hand_out(orders, beginning_, source_, needy);
  if (!needy.empty()) scatter_ = core::seconds_since(begin);
  const Piece mine = piece_of(beginning_.images, beginning_.question.batch, orders.place());
  source_.take_part(mine.begin, mine.end);
}

Outcome Leader::answer(Group& group, StopOrder& order, const Inference::GoOn& go_on,
                       const std::string& device) const {
  bool told = false;
  Collection collection(beginning_, group.place().size, source_);
  settled(group, "the first batch", told, [&] { network_.warm_up(); });
  Findings all;
  double whole = 0, gathering = 0;
  try {
    settled(group, "the end of its images", told, [&] {
      const auto begin = core::Clock::now();
      Courier courier(group, [&](int rank, const AnswerNumbers& numbers) { collection.add(rank, numbers); });
      try {
        all = network_.find(source_, collection.room(0), watched(go_on, meeting_, courier, order),
                            beginning_.question.pace);
      } catch (...) {
        order.give();  // nobody waits for the answers of the others any more
        throw;
      }
      courier.finish();
      whole = std::chrono::duration<double>(courier.end() - begin).count();
      gathering = courier.seconds();
    });
  } catch (const core::BadInput& error) {
    throw core::Error(error.what());  // it is no input that failed so late
  }
  std::vector<Answer> answers = collection.close(all.answered);
  group.note_purpose("the figures");
  RankShare own = share_of(all, device);
  own.times.scatter = scatter_;
  own.times.gather = gathering;
  std::vector<RankShare> shares = join(all, std::move(own), whole, ranks::collected(group, {}));
  if (answers.empty() && !all.interrupted) refuse_all(all.refused, source_.title());
  Outcome outcome = network_.conclude(std::move(all), std::move(answers));
  outcome.ranks = std::move(shares);
  return outcome;
}

/// How long a rank may stand still. One that only takes long answers, however long it takes.
constexpr std::chrono::seconds kPatience(30);

void tell_silent(const std::vector<int>& ranks, const std::string& sentence) {
  const bool one = ranks.size() == 1;
  files::warn(ranks.empty() ? sentence
                            : fmt::format("{} {} not answered for about a second; the others wait for {}",
                                          ranks::names(ranks), one ? "has" : "have", one ? "it" : "them"));
}

ranks::Meeting& watched_for_silence(ranks::Meeting& meeting) {
  meeting.tell_silent(tell_silent);
  meeting.set_patience_to_begin(kPatience);
  return meeting;
}

}  // namespace

Piece piece_of(std::int64_t images, int batch, const ranks::Place& place) {
  const std::int64_t batches = (images + batch - 1) / batch;
  const auto first = [&](std::int64_t rank) {  // rounded up: if some have none, the last ones
    return std::min(images, (batches * rank + place.size - 1) / place.size * batch);
  };
  return {first(place.rank), first(place.rank + 1)};
}

Lead::Lead(ranks::Meeting& meeting)
    : meeting_(meeting),
      orders_(meeting.group(ranks::kOrders, {})),
      sums_(meeting.group(ranks::kSums, {})),
      looking_(watched_for_silence(meeting)) {}

Lead::~Lead() {
  try {
    orders_->send(std::vector<std::byte>(kNoMore));
  } catch (...) {
    // They have ended, or will when this process does.
  }
}

Outcome Lead::ask(const Question& question, std::span<const float> parameters,
                  const std::shared_ptr<core::Device>& device, core::Stream& stream, DividedSource& source,
                  const Inference::GoOn& go_on, const std::stop_token& stop) {
  const bool on_gpus = device->kind() == core::DeviceKind::cuda;
  const RankBeginning beginning{WARPSCOPE_VERSION, question, source.count(), source.fingerprint(), on_gpus};
  send(*orders_, beginning);
  orders_->send(std::as_bytes(parameters));
  std::unique_ptr<Inference> network;
  bool told = false;
  settled(*orders_, "the beginning of the inference", told, [&] {
    network = std::make_unique<Inference>(question.model, parameters, question.selection, question.batch,
                                          device, stream, question.views);
  });
  Leader leader(meeting_, beginning, source, *network);
  leader.share_images(*orders_);
  StopOrder order(*orders_);
  const std::stop_callback stops(stop, [&] { order.give(); });
  return leader.answer(*sums_, order, go_on, device->info().name);
}

Outcome lead(ranks::Meeting& meeting, const Question& question, std::span<const float> parameters,
             const std::shared_ptr<core::Device>& device, core::Stream& stream, DividedSource& source,
             const Inference::GoOn& go_on, const std::stop_token& stop) {
  return Lead(meeting).ask(question, parameters, device, stream, source, go_on, stop);
}

int follow(ranks::Meeting& meeting, const std::string& device) {
  bool told = false;
  const ranks::Looking looking(meeting);
  try {
    Follower follower(meeting, told);
    while (follower.asked()) {
      follower.begin(device);
      follower.answer();
    }
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
