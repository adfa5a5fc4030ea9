#include "gpu/inference/courier.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/bytes_of_messages.h"
#include "gpu/ranks/gather.h"

namespace warpscope::inference {
namespace {

// From one round to the next at least: small batches would else spend more on rounds than on answers.
constexpr auto kBetweenRounds = std::chrono::milliseconds(1);

}  // namespace

/// What a rank tells all others of a round.
struct Courier::Head {
  std::uint64_t bytes = 0;
  std::uint64_t ended = 0;   ///< it has no more after these
  std::uint64_t failed = 0;  ///< since it has given up
};

Courier::Courier(ranks::Group& group, Arrived arrived)
    : group_(group), arrived_(std::move(arrived)), thread_([this] { run(); }) {}

Courier::~Courier() {
  note_end();
}

void Courier::note_end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_one();
}

void Courier::give(std::span<const Answer> batch) {
  if (batch.empty()) return note_end();
  const std::lock_guard lock(mutex_);
  append(batch, waiting_);
  changed_.notify_one();
}

void Courier::give_up() {
  {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }
  note_end();
}

void Courier::finish() {
  note_end();
  if (thread_.joinable()) thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void Courier::run() {
  try {
    while (round()) {
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  end_ = core::Clock::now();
}

AnswerNumbers Courier::load(Head& head) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_ || !waiting_.images.empty(); });
  changed_.wait_until(lock, last_round_ + kBetweenRounds, [this] { return ended_; });
  head.ended = ended_ ? 1 : 0;
  head.failed = failed_ ? 1 : 0;
  return std::exchange(waiting_, {});
}

bool Courier::round() {
  Head head;
  head.ended = 1;  // rank 0 comes to each round and has nothing to give
  std::string mine;
  if (!group_.place().leads()) {
    const AnswerNumbers numbers = load(head);
    const auto begin = core::Clock::now();
    if (!numbers.images.empty()) mine = training::MessageWriter().write(numbers);
    seconds_ += core::seconds_since(begin);
  }
  head.bytes = mine.size();
  const auto heads = ranks::gathered(group_, head);
  last_round_ = core::Clock::now();
  for (std::size_t i = 1; i < heads.size(); ++i) {
    if (heads[i].bytes == 0) continue;
    const auto rank = static_cast<int>(i);
    take(rank, ranks::brought(group_, rank, heads[i].bytes, std::as_bytes(std::span(mine))));
  }
  seconds_ += core::seconds_since(last_round_);
  if (std::ranges::any_of(heads, [](const Head& each) { return each.failed != 0; })) broken_ = true;
  return std::ranges::any_of(heads, [](const Head& each) { return each.ended == 0; });
}

void Courier::take(int rank, std::span<const std::byte> message) {
  if (!group_.place().leads() || failure_) return;
  try {
    const std::string_view text(reinterpret_cast<const char*>(message.data()), message.size());
    arrived_(rank, training::MessageReader().read<AnswerNumbers>(text));
  } catch (...) {
    failure_ = std::current_exception();  // the others come to the rounds that are left
  }
}

}  // namespace warpscope::inference
