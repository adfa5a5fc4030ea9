#include "gpu/ranks/tcp_group.h"

#include <algorithm>
#include <asio.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "gpu/core/require.h"

namespace warpscope::ranks {
namespace {

using asio::ip::tcp;
using TcpClock = std::chrono::steady_clock;
constexpr auto kTcpCheck = std::chrono::milliseconds(50);  // how often who waits looks up
// What has been sent before a connection of presence ended is here by then.
constexpr auto kTcpGrace = std::chrono::milliseconds(1000);
constexpr auto kTcpLook = std::chrono::milliseconds(10);
// Who has met runs already; but its host may be busy.
constexpr auto kTcpFirstAnswer = std::chrono::milliseconds(2000);

// What is said on a connection of presence.
constexpr char kAnswer = 'a';
constexpr char kLeavesAfterOthers = 'o';

enum class TcpCall : std::uint64_t { gather, exchange, message };
constexpr std::uint64_t kTcpCalls = 3;

constexpr std::uint64_t header_of_call(TcpCall call, std::size_t bytes) {
  return bytes * kTcpCalls + static_cast<std::uint64_t>(call);
}

std::string fate_by(int rank, const asio::error_code& error) {
  if (error == asio::error::eof || error == asio::error::connection_reset ||
      error == asio::error::broken_pipe) {
    return fmt::format("rank {} ended", rank);
  }
  return fmt::format("rank {} cannot be reached any more ({})", rank, error.message());
}

class TcpGroup final : public Group {
 public:
  TcpGroup(std::shared_ptr<TcpSeat> seat, Sockets sockets, int number, TellSlow tell_slow);

  void send(std::span<const std::byte> message) override;
  std::vector<std::byte> receive() override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_to_all(std::span<const std::byte> to, std::span<std::byte> from) override;
  void trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) override;
  std::string medium() const override { return "TCP"; }
  void note_purpose(std::string purpose) override { purpose_ = std::move(purpose); }

 private:
  struct Peer {
    std::optional<tcp::socket> socket;  ///< none to this rank
    std::uint64_t header = 0;           ///< that it sent
    int pending = 0;                    ///< reads and writes that have not ended
    asio::error_code failure;
  };
  enum class OnEnd { fails, reading_tells };  ///< what a write does that finds the other rank gone
  enum class Tells { slow_ones, nothing };
  using ConstBlock = std::function<std::span<const std::byte>(int rank)>;
  using Block = std::function<std::span<std::byte>(int rank)>;

  void swap_blocks(TcpCall call, std::size_t bytes, const ConstBlock& to, const Block& from);
  void write_to(int rank, std::span<const std::byte> bytes, OnEnd on_end);
  void read_from(int rank, std::span<std::byte> bytes);
  void read_header(int rank, std::function<void()> then);
  void fail(int rank, const asio::error_code& error);
  void run(Tells tells);
  void wait_for_all(Tells tells);
  void refuse_other_call(int rank);
  std::vector<int> awaited() const;
  void look_for_the_gone(TcpClock::duration passed);
  std::vector<int> first_behind(const std::vector<int>& failed) const;
  void give_up_after(TcpClock::duration waited);
  void throw_what_failed();
  [[noreturn]] void break_off(std::exception_ptr error);
  void still_whole() const;

  std::shared_ptr<TcpSeat> seat_;
  asio::io_context io_{1};
  std::vector<Peer> peers_;
  const int number_;
  TellSlow tell_slow_;
  std::string purpose_ = "the next exchange";
  std::uint64_t header_ = 0;       ///< of the call that is made
  std::optional<int> other_call_;  ///< a rank that makes another one
  TcpClock::duration gone_for_{};  ///< since somebody who is awaited was seen to be gone
  std::exception_ptr broken_;      ///< why this group is of no use any more
};

TcpGroup::TcpGroup(std::shared_ptr<TcpSeat> seat, Sockets sockets, int number, TellSlow tell_slow)
    : Group(seat->place()),
      seat_(std::move(seat)),
      peers_(sockets.size()),
      number_(number),
      tell_slow_(std::move(tell_slow)) {
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    if (!sockets[rank].open()) continue;
    // The protocol matters only to who asks for addresses.
    peers_[rank].socket.emplace(io_, tcp::v4(), sockets[rank].release());
    peers_[rank].socket->non_blocking(true);
  }
}

void TcpGroup::still_whole() const {
  if (broken_) std::rethrow_exception(broken_);
}

std::vector<int> TcpGroup::awaited() const {
  std::vector<int> result;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    if (peers_[rank].pending > 0) result.push_back(static_cast<int>(rank));
  }
  return result;
}

void TcpGroup::fail(int rank, const asio::error_code& error) {
  if (error == asio::error::operation_aborted) return;
  peers_[static_cast<std::size_t>(rank)].failure = error;
  io_.stop();
}

void TcpGroup::write_to(int rank, std::span<const std::byte> bytes, OnEnd on_end) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  ++peer.pending;
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(&header_, sizeof(header_)),
                                                  asio::buffer(bytes.data(), bytes.size())};
  asio::async_write(*peer.socket, buffers,
                    [this, rank, on_end, &peer](const asio::error_code& error, std::size_t /*bytes*/) {
                      // Where something is read as well, that tells whether it came to this before it ended.
                      if (error && on_end == OnEnd::fails) return fail(rank, error);
                      --peer.pending;
                    });
}

void TcpGroup::read_header(int rank, std::function<void()> then) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  ++peer.pending;
  asio::async_read(
      *peer.socket, asio::buffer(&peer.header, sizeof(peer.header)),
      [this, rank, then = std::move(then)](const asio::error_code& error, std::size_t /*bytes*/) {
        if (error) return fail(rank, error);
        if (!broken_) then();
      });
}

void TcpGroup::read_from(int rank, std::span<std::byte> bytes) {
  Peer& peer = peers_[static_cast<std::size_t>(rank)];
  asio::async_read(*peer.socket, asio::buffer(bytes.data(), bytes.size()),
                   [this, rank, &peer](const asio::error_code& error, std::size_t /*bytes*/) {
                     if (error) return fail(rank, error);
                     --peer.pending;
                   });
}

void TcpGroup::refuse_other_call(int rank) {
  other_call_ = rank;
  io_.stop();
}

void TcpGroup::break_off(std::exception_ptr error) {
  broken_ = std::move(error);
  // What is under way has buffers of the caller. The connections stay, so that others do not take this rank for ended.
  do {  // again, since a read of which a part has come goes on
    for (Peer& peer : peers_) {
      asio::error_code ignored;
      if (peer.socket) peer.socket->cancel(ignored);
    }
    io_.restart();
    io_.poll();
  } while (!io_.stopped());
  std::rethrow_exception(broken_);
}

void TcpGroup::throw_what_failed() {
  const auto failed = [](const Peer& peer) { return static_cast<bool>(peer.failure); };
  if (std::ranges::none_of(peers_, failed) && !other_call_) return;
  if (other_call_) {
    break_off(std::make_exception_ptr(core::Error(fmt::format(
        "rank {} came to {} with other bytes ({}) than rank {} ({}); all ranks must be given the same "
        "settings and data",
        *other_call_, purpose_, peers_[static_cast<std::size_t>(*other_call_)].header / kTcpCalls,
        place().rank, header_ / kTcpCalls))));
  }
  io_.restart();
  io_.poll();  // others that have ended as well
  std::vector<int> gone;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (!failed(peers_[i])) continue;
    gone.push_back(static_cast<int>(i));
    seat_->note_gone(gone.back());
  }
  const std::vector<int> missing = first_behind(gone);
  std::string sentence;
  for (const int rank : missing) {
    const Peer& peer = peers_[static_cast<std::size_t>(rank)];
    sentence +=
        (sentence.empty() ? "" : ", ") + (failed(peer) ? fate_by(rank, peer.failure) : seat_->fate(rank));
  }
  sentence += fmt::format("; {} to come to {}", missing.size() == 1 ? "it was" : "they were", purpose_);
  break_off(std::make_exception_ptr(RankMissing(sentence, missing)));
}

/// One that others miss may be known here only after those that have ended for want of it.
std::vector<int> TcpGroup::first_behind(const std::vector<int>& failed) const {
  std::vector<int> first = seat_->first_of(failed);
  for (const auto end = TcpClock::now() + kTcpGrace; first.empty() && TcpClock::now() < end;) {
    std::this_thread::sleep_for(kTcpLook);
    first = seat_->first_of(seat_->gone());
  }
  return first.empty() ? failed : first;
}

/// A connection on which bytes are under way tells late, or never, that the host of the other end is gone.
void TcpGroup::look_for_the_gone(TcpClock::duration passed) {
  std::vector<int> both;
  std::ranges::set_intersection(awaited(), seat_->gone(), std::back_inserter(both));
  gone_for_ = both.empty() ? TcpClock::duration{} : gone_for_ + passed;
  if (gone_for_ < kTcpGrace) return;
  if (std::vector<int> first = seat_->first_of(both); !first.empty()) both = std::move(first);
  std::string sentence;
  for (const int rank : both) sentence += (sentence.empty() ? "" : ", ") + seat_->fate(rank);
  sentence += fmt::format("; {} to come to {}", both.size() == 1 ? "it was" : "they were", purpose_);
  break_off(std::make_exception_ptr(RankMissing(sentence, both)));
}

/// Those who stand still are on hosts where this process ends nobody: they end when they go on.
void TcpGroup::give_up_after(TcpClock::duration waited) {
  if (const RankSet silent = seat_->given_up(); silent != 0) {
    const std::string sentence = stood_still(numbers(silent), seat_->silent_for(), purpose_);
    break_off(std::make_exception_ptr(RankMissing(sentence, numbers(silent))));
  }
  const std::chrono::milliseconds patience = seat_->patience(number_);
  const std::vector<int> still = awaited();
  if (patience.count() == 0 || waited < patience || still.empty()) return;
  break_off(std::make_exception_ptr(RankMissing(stood_still(still, waited, purpose_), still)));
}

void TcpGroup::run(Tells tells) {
  try {
    wait_for_all(tells);
  } catch (...) {
    if (!broken_) break_off(std::current_exception());
    throw;
  }
}

void TcpGroup::wait_for_all(Tells tells) {
  std::vector<int> slow;
  TcpClock::duration waited{};
  const auto so_far = [&waited] { return std::chrono::duration<double>(waited).count(); };
  gone_for_ = {};
  io_.restart();
  for (auto now = TcpClock::now();;) {
    io_.run_for(kTcpCheck);
    throw_what_failed();
    if (io_.stopped()) break;
    // A process that was stopped itself must not blame the others for that time.
    const auto passed = std::min<TcpClock::duration>(TcpClock::now() - now, 2 * kTcpCheck);
    now = TcpClock::now();
    waited += passed;
    look_for_the_gone(passed);
    if (tells == Tells::nothing) continue;
    give_up_after(waited);
    if (!tell_slow_ || !slow.empty() || waited < kSilent) continue;
    slow = awaited();
    if (slow.empty()) continue;
    tell_slow_(slow, fmt::format("{} {} not come to {} within {:.1f} s", names(slow),
                                 slow.size() == 1 ? "has" : "have", purpose_, so_far()));
  }
  if (slow.empty()) return;
  tell_slow_({}, fmt::format("{} {} come to {} after {:.1f} s", names(slow),
                             slow.size() == 1 ? "has" : "have", purpose_, so_far()));
}

void TcpGroup::swap_blocks(TcpCall call, std::size_t bytes, const ConstBlock& to, const Block& from) {
  header_ = header_of_call(call, bytes);
  for (int rank = 0; rank < place().size; ++rank) {
    if (rank == place().rank) continue;
    write_to(rank, to(rank), OnEnd::reading_tells);
    read_header(rank, [this, rank, &from] {
      if (peers_[static_cast<std::size_t>(rank)].header != header_) return refuse_other_call(rank);
      read_from(rank, from(rank));
    });
  }
  run(Tells::slow_ones);
}

void TcpGroup::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  still_whole();
  core::require(all.size() == mine.size() * place().size, "{} bytes of each of {} ranks do not fill {} bytes",
                mine.size(), place().size, all.size());
  const auto part = [&](int rank) { return all.subspan(mine.size() * rank, mine.size()); };
  // `mine` may lie in `all`.
  if (!mine.empty()) std::memmove(part(place().rank).data(), mine.data(), mine.size());
  const std::span<const std::byte> kept = part(place().rank);
  swap_blocks(
      TcpCall::gather, mine.size(), [&](int /*rank*/) { return kept; }, part);
}

void TcpGroup::all_to_all(std::span<const std::byte> to, std::span<std::byte> from) {
  still_whole();
  core::require(to.size() == from.size() && to.size() % place().size == 0,
                "{} bytes given and {} taken are not a block of one size for each of {} ranks", to.size(),
                from.size(), place().size);
  const std::size_t block = to.size() / place().size;
  if (block > 0) std::memcpy(from.data() + block * place().rank, to.data() + block * place().rank, block);
  swap_blocks(
      TcpCall::exchange, block, [&](int rank) { return to.subspan(block * rank, block); },
      [&](int rank) { return from.subspan(block * rank, block); });
}

void TcpGroup::trade(int a, int b, std::span<const std::byte> mine, std::span<std::byte> theirs) {
  still_whole();
  core::require(a != b && mine.size() == theirs.size(), "ranks {} and {} cannot trade {} for {} bytes", a, b,
                mine.size(), theirs.size());
  const int me = place().rank;
  const int partner = me == a ? b : me == b ? a : -1;
  swap_blocks(
      TcpCall::exchange, mine.size(),
      [&](int rank) { return rank == partner ? mine : std::span<const std::byte>(); },
      [&](int rank) { return rank == partner ? theirs : std::span<std::byte>(); });
}

void TcpGroup::send(std::span<const std::byte> message) {
  still_whole();
  core::require(place().leads(), "rank {} has no messages to send; only rank 0 sends", place().rank);
  header_ = header_of_call(TcpCall::message, message.size());
  for (int rank = 1; rank < place().size; ++rank) write_to(rank, message, OnEnd::fails);
  run(Tells::slow_ones);
}

std::vector<std::byte> TcpGroup::receive() {
  still_whole();
  core::require(!place().leads(), "rank 0 gets no messages; only the other ranks receive");
  std::vector<std::byte> message;
  header_ = header_of_call(TcpCall::message, 0);
  read_header(0, [this, &message] {
    if (peers_[0].header % kTcpCalls != static_cast<std::uint64_t>(TcpCall::message)) {
      return refuse_other_call(0);
    }
    message.resize(peers_[0].header / kTcpCalls);
    read_from(0, message);
  });
  run(Tells::nothing);
  return message;
}

}  // namespace

short TcpSeat::events(int rank) const {
  const Descriptor& socket = presence_[static_cast<std::size_t>(rank)];
  if (!socket.open()) return 0;
  pollfd entry{socket.number(), POLLRDHUP, 0};
  ::poll(&entry, 1, 0);
  return entry.revents;
}

std::vector<int> TcpSeat::gone() const {
  std::vector<int> result;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (events(rank) != 0 || (noted_.load() & only(rank)) != 0) result.push_back(rank);
  }
  return result;
}

/// Where the other has not read for long, it needs no more of them.
void TcpSeat::say(int rank, char word) const {
  const Descriptor& socket = presence_[static_cast<std::size_t>(rank)];
  if (!socket.open()) return;
  [[maybe_unused]] const ssize_t sent =
      ::send(socket.number(), &word, sizeof(word), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void TcpSeat::answer() const {
  say(0, kAnswer);
}

void TcpSeat::leave_after_others() const {
  for (int rank = 0; rank < place_.size; ++rank) say(rank, kLeavesAfterOthers);
}

/// All that it has said. With `hearing_`.
void TcpSeat::hear(int rank) const {
  const Descriptor& socket = presence_[static_cast<std::size_t>(rank)];
  if (!socket.open()) return;
  std::array<char, 256> words{};
  ssize_t count = 0;
  while ((count = ::recv(socket.number(), words.data(), words.size(), MSG_DONTWAIT)) > 0) {
    for (const char word : std::span(words).first(static_cast<std::size_t>(count))) {
      if (word == kLeavesAfterOthers) left_after_others_ |= only(rank);
      if (word == kAnswer) ++answers_[static_cast<std::size_t>(rank)];
    }
  }
}

std::uint32_t TcpSeat::answers(int rank) const {
  const std::lock_guard lock(hearing_);
  hear(rank);
  return answers_[static_cast<std::size_t>(rank)];
}

std::vector<int> TcpSeat::first_of(const std::vector<int>& gone) const {
  const std::lock_guard lock(hearing_);
  std::vector<int> result;
  for (const int rank : gone) {
    hear(rank);
    if ((left_after_others_ & only(rank)) == 0) result.push_back(rank);
  }
  return result;
}

std::string TcpSeat::fate(int rank) const {
  // Its system closed the connection, or nothing came back from there.
  return fmt::format("rank {} {}", rank,
                     (events(rank) & POLLERR) == 0 ? "ended" : "cannot be reached any more");
}

TcpMeeting::TcpMeeting(Place place, std::array<Sockets, kTcpLinks> sockets)
    : seat_(std::make_shared<TcpSeat>(place, std::move(sockets[kPresence]))),
      silence_(place.size, kTcpFirstAnswer) {
  for (std::size_t group = 0; group < sockets_.size(); ++group) sockets_[group] = std::move(sockets[group]);
}

void TcpMeeting::look(std::chrono::milliseconds passed) const {
  if (!place().leads()) return seat_->answer();
  const std::chrono::milliseconds patience(patience_to_begin_);
  RankSet silent = 0;
  std::chrono::milliseconds longest{0};
  for (int rank = 1; rank < place().size; ++rank) {
    const auto since = silence_.note(rank, seat_->answers(rank), passed);
    if (patience.count() == 0 || since < patience) continue;
    silent |= only(rank);
    longest = std::max(longest, since);
  }
  if (!begins_) return;
  if (silent != 0) return seat_->give_up_on(silent, longest);
  silence_.tell([](int rank) { return fmt::format("rank {}", rank); }, [](int) { return false; });
}

void TcpMeeting::set_patience_to_begin(std::chrono::milliseconds patience) {
  patience_to_begin_ = patience.count();
  begins_ = true;
}

void TcpMeeting::set_patience(std::chrono::milliseconds patience) {
  begins_ = false;
  seat_->set_patience(patience);
}

std::string TcpMeeting::missing() const {
  std::vector<int> gone = seat_->gone();
  const std::vector<int> first = seat_->first_of(gone);
  if (first.empty() && !gone.empty()) {
    const auto now = TcpClock::now().time_since_epoch();
    TcpClock::rep since = 0;
    if (first_unknown_since_.compare_exchange_strong(since, now.count())) since = now.count();
    if (now - TcpClock::duration(since) < kTcpGrace) return "";
  }
  if (!first.empty()) gone = first;
  std::string told;
  for (const int rank : gone) told += (told.empty() ? "" : "; ") + seat_->fate(rank);
  return told;
}

std::unique_ptr<Group> TcpMeeting::group(int number, TellSlow tell_slow) {
  core::require(number >= 0 && number < kGroups, "there is no group {} of ranks", number);
  core::require(!given_[number].exchange(true), "group {} of ranks is in use already", number);
  return std::make_unique<TcpGroup>(seat_, std::move(sockets_[static_cast<std::size_t>(number)]), number,
                                    std::move(tell_slow));
}

}  // namespace warpscope::ranks
