#include "gpu/ranks/shared_group.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "gpu/core/require.h"

namespace warpscope::ranks {
namespace {

constexpr auto kSpin = std::chrono::microseconds(10);
constexpr auto kProcessCheck =
    std::chrono::milliseconds(50);             // how often the system is asked whether processes live
constexpr std::size_t kRoom = kRingBytes / 4;  // pieces of a message that is longer than what is free

enum class Call : std::uint64_t { gather, exchange };

constexpr std::uint64_t tagged(Call call, std::size_t bytes) {
  return bytes * 2 + static_cast<std::uint64_t>(call);
}

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// memcpy must not be given null, not even for nothing.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t count) {
  if (count > 0) std::memmove(to, from, count);
}

double in_seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Seat::Seat(std::shared_ptr<Region> region, int rank) : region_(std::move(region)), rank_(rank) {
  core::require(rank >= 0 && rank < region_->ranks(), "there is no rank {} among {} ranks", rank,
                region_->ranks());
  SharedRank& shared = region_->state().ranks[rank];
  Presence expected = Presence::absent;
  const bool free = shared.presence.compare_exchange_strong(expected, Presence::here);
  core::require(free, "rank {} is there already; start each rank once", rank);
  shared.process.store(::getpid(), std::memory_order_relaxed);
}

Seat::~Seat() {
  const Presence presence = region_->state().ranks[rank_].presence.load(std::memory_order_acquire);
  if (presence == Presence::here) region_->end(rank_, Presence::left, 0);
}

SharedGroup::SharedGroup(std::shared_ptr<Seat> seat, int number, TellSlow tell_slow)
    : Group(seat->place()),
      seat_(std::move(seat)),
      region_(seat_->region()),
      state_(region_.state().groups[number]),
      mine_(state_.ranks[place().rank]),
      number_(number),
      spins_(std::thread::hardware_concurrency() >= static_cast<unsigned>(place().size)),
      tell_slow_(std::move(tell_slow)) {}

void SharedGroup::miss(RankSet ranks) {
  if (const RankSet lost = ranks & region_.lost(); lost != 0) ranks = lost;
  std::string sentence;
  for (const int rank : numbers(ranks)) sentence += (sentence.empty() ? "" : ", ") + region_.fate(rank);
  sentence +=
      fmt::format("; {} to come to {}", std::has_single_bit(ranks) ? "it was" : "they were", purpose_);
  const RankMissing error(sentence, numbers(ranks));
  broken_ = std::make_exception_ptr(error);
  throw error;
}

void SharedGroup::still_whole() const {
  if (broken_) std::rethrow_exception(broken_);
}

bool SharedGroup::spin(const Absent& absent) const {
  const auto end = Clock::now() + kSpin;
  do {
    if (absent() == 0) return true;
    pause_core();
  } while (Clock::now() < end);
  return false;
}

void SharedGroup::wait_for(const Absent& absent, const Changes& changes, Patience patience) {
  if (patience == Patience::busy && spins_ && spin(absent)) return;
  sleep_for(absent, changes, patience != Patience::endless);
}

void SharedGroup::sleep_for(const Absent& absent, const Changes& changes, bool tells) {
  std::vector<int> slow;
  Clock::duration waited{};
  Clock::duration unlooked{};
  RankSet gone = 0;
  for (auto now = Clock::now();;) {
    // In this order: what a rank did before it ended is seen, and no change is missed.
    const std::uint32_t before = changes.load(std::memory_order_acquire);
    const RankSet ended = region_.ended() | gone;
    const RankSet missing = absent();
    if (missing == 0) break;
    if ((missing & ended) != 0) miss(missing & ended);
    if (tells && slow.empty() && waited >= kSilent) {
      slow = numbers(missing);
      if (tell_slow_) {
        tell_slow_(slow, fmt::format("{} {} not come to {} within {:.1f} s", names(slow),
                                     slow.size() == 1 ? "has" : "have", purpose_, in_seconds(waited)));
      }
    }
    give_up_on(missing, waited);
    wait_for_change(changes, before, kProcessCheck);
    // A process that was stopped itself must not blame the others for that time.
    const auto passed = std::min<Clock::duration>(Clock::now() - now, 2 * kProcessCheck);
    now = Clock::now();
    waited += passed;
    unlooked += passed;
    if (unlooked >= kProcessCheck) {
      gone = region_.gone();
      unlooked = {};
    }
  }
  if (!slow.empty() && tell_slow_) {
    tell_slow_({}, fmt::format("{} {} come to {} after {:.1f} s", names(slow),
                               slow.size() == 1 ? "has" : "have", purpose_, in_seconds(waited)));
  }
}

void SharedGroup::give_up_on(RankSet missing, Clock::duration waited) const {
  const std::chrono::milliseconds patience = patience_in(number_, region_.patience());
  if (!place().leads() || patience.count() == 0 || waited < patience) return;
  for (const int rank : numbers(missing))
    region_.kill(rank, std::chrono::duration_cast<std::chrono::milliseconds>(waited));
}

void SharedGroup::meet(std::uint64_t call) {
  const std::uint32_t meeting = meetings_ + 1;
  mine_.call[meetings_ & 1] = call;
  mine_.arrived.store(meeting, std::memory_order_release);
  const Absent absent = [this, meeting] {
    RankSet missing = 0;
    for (int rank = 0; rank < place().size; ++rank) {
      const std::uint32_t arrived = state_.ranks[rank].arrived.load(std::memory_order_acquire);
      if (static_cast<std::int32_t>(arrived - meeting) < 0) missing |= only(rank);
    }
    return missing;
  };
  // The last one wakes the others: whoever counts last has seen all that came before.
  state_.arrivals.fetch_add(1, std::memory_order_acq_rel);
  if (absent() == 0) {
    tell_change(state_.arrivals);
  } else {
    wait_for(absent, state_.arrivals, Patience::busy);
  }
  check_calls(call);
  meetings_ = meeting;
}

void SharedGroup::check_calls(std::uint64_t call) {
  for (int rank = 0; rank < place().size; ++rank) {
    const std::uint64_t other = state_.ranks[rank].call[meetings_ & 1];
    if (other == call) continue;
    broken_ = std::make_exception_ptr(core::Error(fmt::format(
        "rank {} came to {} with other bytes ({}) than rank {} ({}); all ranks must be given the same "
        "settings and data",
        rank, purpose_, other / 2, place().rank, call / 2)));
    std::rethrow_exception(broken_);
  }
}

void SharedGroup::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  still_whole();
  core::require(all.size() == mine.size() * place().size, "{} bytes of each of {} ranks do not fill {} bytes",
                mine.size(), place().size, all.size());
  copy_bytes(all.data() + mine.size() * place().rank, mine.data(), mine.size());
  if (place().size == 1) return;
  const int me = place().rank;
  std::size_t begin = 0;
  do {
    const std::size_t count = std::min(mine.size() - begin, kSlotBytes);
    const unsigned parity = meetings_ & 1;
    copy_bytes(region_.slot(number_, me, parity), all.data() + mine.size() * me + begin, count);
    meet(tagged(Call::gather, mine.size()));
    for (int rank = 0; rank < place().size; ++rank) {
      if (rank != me)
        copy_bytes(all.data() + mine.size() * rank + begin, region_.slot(number_, rank, parity), count);
    }
    begin += count;
  } while (begin < mine.size());
}

void SharedGroup::all_to_all(std::span<const std::byte> to, std::span<std::byte> from) {
  still_whole();
  core::require(to.size() == from.size() && to.size() % place().size == 0,
                "{} bytes given and {} taken are not a block of one size for each of {} ranks", to.size(),
                from.size(), place().size);
  const int me = place().rank;
  const std::size_t block = to.size() / place().size;
  copy_bytes(from.data() + block * me, to.data() + block * me, block);
  if (place().size == 1) return;
  // A slot has a piece for each other rank.
  const std::size_t others = static_cast<std::size_t>(place().size) - 1;
  const std::size_t most = kSlotBytes / others / 64 * 64;
  std::size_t begin = 0;
  do {
    const std::size_t count = std::min(block - begin, most);
    const unsigned parity = meetings_ & 1;
    for (int rank = 0; rank < place().size; ++rank) {
      if (rank == me) continue;
      copy_bytes(region_.slot(number_, me, parity) + most * (rank < me ? rank : rank - 1),
                 to.data() + block * rank + begin, count);
    }
    meet(tagged(Call::exchange, block));
    for (int rank = 0; rank < place().size; ++rank) {
      if (rank == me) continue;
      copy_bytes(from.data() + block * rank + begin,
                 region_.slot(number_, rank, parity) + most * (me < rank ? me : me - 1), count);
    }
    begin += count;
  } while (begin < block);
}

void SharedGroup::trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) {
  still_whole();
  core::require(mine.size() == theirs.size(), "{} bytes are given and {} taken", mine.size(), theirs.size());
  const int me = place().rank;
  const bool takes_part = me == a || me == b;
  for (std::size_t begin = 0; begin < mine.size(); begin += kSlotBytes) {
    const std::size_t count = std::min(mine.size() - begin, kSlotBytes);
    const unsigned parity = meetings_ & 1;
    if (takes_part) copy_bytes(region_.slot(number_, me, parity), mine.data() + begin, count);
    meet(tagged(Call::exchange, mine.size()));
    if (takes_part) {
      copy_bytes(theirs.data() + begin, region_.slot(number_, me == a ? b : a, parity), count);
    }
  }
}

void SharedGroup::put(std::span<const std::byte> bytes, bool publish) {
  do {
    const std::size_t room = std::min(bytes.size(), kRoom);
    std::uint64_t slowest = ring_bytes_;
    const Absent lagging = [&] {
      RankSet ranks = 0;
      slowest = ring_bytes_;
      for (int rank = 1; rank < place().size; ++rank) {
        const std::uint64_t received = state_.ranks[rank].received.load(std::memory_order_acquire);
        slowest = std::min(slowest, received);
        if (kRingBytes - (ring_bytes_ - received) < room) ranks |= only(rank);
      }
      return ranks;
    };
    wait_for(lagging, state_.receivings, Patience::telling);
    const std::size_t count = std::min<std::size_t>(bytes.size(), kRingBytes - (ring_bytes_ - slowest));
    const std::size_t place_in_ring = ring_bytes_ % kRingBytes;
    const std::size_t straight = std::min(count, kRingBytes - place_in_ring);
    copy_bytes(region_.ring(number_) + place_in_ring, bytes.data(), straight);
    copy_bytes(region_.ring(number_), bytes.data() + straight, count - straight);
    ring_bytes_ += count;
    bytes = bytes.subspan(count);
    if (!publish) continue;
    state_.sent.store(ring_bytes_, std::memory_order_release);
    tell_change(state_.sendings);
  } while (!bytes.empty());
}

void SharedGroup::take(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    std::uint64_t sent = 0;
    const Absent silent = [&] {
      sent = state_.sent.load(std::memory_order_acquire);
      return sent == ring_bytes_ ? only(0) : RankSet{0};
    };
    wait_for(silent, state_.sendings, Patience::endless);
    const std::size_t count = std::min<std::size_t>(bytes.size(), sent - ring_bytes_);
    const std::size_t place_in_ring = ring_bytes_ % kRingBytes;
    const std::size_t straight = std::min(count, kRingBytes - place_in_ring);
    copy_bytes(bytes.data(), region_.ring(number_) + place_in_ring, straight);
    copy_bytes(bytes.data() + straight, region_.ring(number_), count - straight);
    ring_bytes_ += count;
    bytes = bytes.subspan(count);
    mine_.received.store(ring_bytes_, std::memory_order_release);
    tell_change(state_.receivings);
  }
}

void SharedGroup::send(std::span<const std::byte> message) {
  still_whole();
  core::require(place().leads(), "rank {} has no messages to send; only rank 0 sends", place().rank);
  if (place().size == 1) return;
  const std::uint64_t length = message.size();
  put(std::as_bytes(std::span(&length, 1)), false);
  put(message, true);
}

std::vector<std::byte> SharedGroup::receive() {
  still_whole();
  core::require(!place().leads(), "rank 0 gets no messages; only the other ranks receive");
  std::uint64_t length = 0;
  take(std::as_writable_bytes(std::span(&length, 1)));
  std::vector<std::byte> message(length);
  take(message);
  return message;
}

}  // namespace warpscope::ranks
