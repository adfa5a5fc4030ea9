#include "gpu/ranks/tcp_meeting.h"

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/require.h"
#include "gpu/ranks/shared_region.h"
#include "gpu/ranks/tcp_door.h"

namespace warpscope::ranks {
namespace {

using asio::ip::tcp;
using MeetClock = std::chrono::steady_clock;
constexpr auto kLookForGone = std::chrono::milliseconds(100);
constexpr auto kAskAgain = std::chrono::milliseconds(200);
constexpr auto kShortestTry = std::chrono::seconds(1);
constexpr auto kLongestTry = std::chrono::seconds(5);

bool is_local_name(const std::string& host) {
  return host == "localhost";
}

bool is_numeric(const std::string& host) {
  asio::error_code error;
  asio::ip::make_address(host, error);
  return !error;
}

/// At `address`, or at all of this host where there is none.
std::unique_ptr<TcpDoor> door_at(asio::io_context& io, const std::optional<asio::ip::address>& address,
                                 std::uint16_t port, const std::string& where, const TcpTerms& terms) {
  if (address) return std::make_unique<TcpDoor>(io, tcp::endpoint(*address, port), where, terms);
  try {
    return std::make_unique<TcpDoor>(io, tcp::endpoint(tcp::v6(), port), where, terms);
  } catch (const core::BadInput&) {  // systems without IPv6
    return std::make_unique<TcpDoor>(io, tcp::endpoint(tcp::v4(), port), where, terms);
  }
}

std::string have_not_come(const std::vector<int>& ranks, std::chrono::milliseconds patience) {
  return fmt::format("{} {} not come within {:.3g} s; start {} with the same --meet and token", names(ranks),
                     ranks.size() == 1 ? "has" : "have", std::chrono::duration<double>(patience).count(),
                     ranks.size() == 1 ? "it" : "them");
}

/// Runs until no one is missing. Returns who is after `patience`; ranks that are gone are for `look_after`.
std::vector<int> wait_for_ranks(asio::io_context& io, std::chrono::milliseconds patience,
                                const std::function<std::vector<int>()>& missing,
                                const std::function<void()>& look_after) {
  const auto end = MeetClock::now() + patience;
  const auto whole = [&] { return missing().empty(); };
  while (!run_until(io, std::min(end, MeetClock::now() + kLookForGone), whole)) {
    look_after();
    if (MeetClock::now() >= end) break;
  }
  return missing();
}

void throw_if_gone(const MetRanks& met) {
  const std::vector<int> gone = met.gone();
  if (gone.empty()) return;
  throw RankMissing(fmt::format("{} ended while the ranks connected to each other", names(gone)), gone);
}

}  // namespace

class TcpFounding::Inside {
 public:
  Inside(const std::string& host, std::uint16_t port, TcpTerms terms) : terms_(std::move(terms)) {
    check_terms(terms_);
    core::require(terms_.rank == 0, "only rank 0 waits for the others");
    std::optional<asio::ip::address> address;
    if (is_numeric(host)) address = asio::ip::make_address(host);
    if (is_local_name(host)) address = asio::ip::address_v4::loopback();
    door_ =
        door_at(io_, address, port, fmt::format("{}:{}", host.empty() ? "this host" : host, port), terms_);
    met_.make_room({0, terms_.ranks});
    addresses_.resize(static_cast<std::size_t>(terms_.ranks));
  }

  std::uint16_t port() const { return door_->port(); }

  std::shared_ptr<Meeting> meet() {
    door_->open([this](const Hello& hello) { return refusal_of(hello); },
                [this](Guest& guest) { take(guest); });
    const auto absent = wait_for_ranks(
        io_, terms_.patience, [this] { return absent_ones(); }, [this] { forget_the_gone(); });
    if (!absent.empty()) end_without(absent);
    introduce();
    const auto unlinked = wait_for_ranks(
        io_, terms_.patience, [this] { return met_.missing(1); }, [this] { throw_if_gone(met_); });
    if (!unlinked.empty()) end_without(unlinked);
    door_->close();
    return met_.meeting();
  }

 private:
  std::string refusal_of(const Hello& hello) const {
    if (hello.rank == 0) return "it leads another training; give each a place of its own to meet at";
    if (hello.rank < 1 || hello.rank >= terms_.ranks) {
      return fmt::format("there is no rank {} among {} ranks besides rank 0", hello.rank, terms_.ranks);
    }
    if (hello.ranks != 0 && hello.ranks != terms_.ranks) {
      return fmt::format("it was told of {} ranks and rank 0 of {}", hello.ranks, terms_.ranks);
    }
    if (met_.has(hello.link, hello.rank)) {
      return fmt::format("rank {} is there already; start each rank once", hello.rank);
    }
    if (hello.link != kPresence && !introduced_) return "it came before all ranks were there";
    return "";
  }

  void take(Guest& guest) {
    const Hello& hello = guest.hello;
    if (hello.link == kPresence) {
      asio::error_code error;
      const tcp::endpoint from = guest.socket.remote_endpoint(error);
      if (error) return;
      TcpAddress& address = addresses_[static_cast<std::size_t>(hello.rank)];
      fill_in(address.host, plain(from.address()).to_string());
      address.port = hello.port;
    }
    met_.take(hello.link, hello.rank, std::move(guest.socket));
  }

  std::vector<int> absent_ones() const {
    std::vector<int> result;
    for (int rank = 1; rank < terms_.ranks; ++rank) {
      if (!met_.has(kPresence, rank)) result.push_back(rank);
    }
    return result;
  }

  /// Whoever left before all were there can come again.
  void forget_the_gone() {
    for (const int rank : met_.gone()) {
      met_.drop(rank);
      if (terms_.tell) terms_.tell(fmt::format("rank {} came and left; start it again", rank));
    }
  }

  void introduce() {
    introduced_ = true;
    Welcome welcome;
    welcome.accepted = 1;
    welcome.ranks = terms_.ranks;
    const auto head = std::as_bytes(std::span(&welcome, 1));
    const auto table = std::as_bytes(std::span(addresses_));
    std::vector<std::byte> bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), table.begin(), table.end());
    for (int rank = 1; rank < terms_.ranks; ++rank) met_.tell(rank, bytes);
  }

  [[noreturn]] void end_without(const std::vector<int>& absent) const {
    const std::string sentence = have_not_come(absent, terms_.patience);
    Welcome farewell;
    fill_in(farewell.refusal, sentence);
    for (int rank = 1; rank < terms_.ranks && !introduced_; ++rank) {
      if (met_.has(kPresence, rank)) met_.tell(rank, std::as_bytes(std::span(&farewell, 1)));
    }
    throw RankMissing(sentence, absent);
  }

  const TcpTerms terms_;
  asio::io_context io_{1};
  std::unique_ptr<TcpDoor> door_;
  MetRanks met_;
  std::vector<TcpAddress> addresses_;
  bool introduced_ = false;  ///< whether the others know where all are
};

TcpFounding::TcpFounding(const std::string& host, std::uint16_t port, TcpTerms terms)
    : inside_(std::make_unique<Inside>(host, port, std::move(terms))) {}

TcpFounding::~TcpFounding() = default;

std::uint16_t TcpFounding::port() const {
  return inside_->port();
}

std::shared_ptr<Meeting> TcpFounding::meet() {
  return inside_->meet();
}

namespace {

/// Who connects to others.
class Caller {
 public:
  /// Not open where nobody is there within `most`; failure() says why.
  tcp::socket connect(const std::string& host, std::uint16_t port, MeetClock::duration most) {
    tcp::socket socket(io_);
    const auto found = tcp::resolver(io_).resolve(host, std::to_string(port), failure_);
    if (!failure_) {
      failure_ = asio::error::timed_out;
      asio::async_connect(socket, found, [&](const asio::error_code& error, const tcp::endpoint& /*to*/) {
        if (error != asio::error::operation_aborted) failure_ = error;
      });
      run_to_end(socket, MeetClock::now() + most);
    }
    if (failure_ || !socket.is_open()) return tcp::socket(io_);
    prepare(socket.native_handle());
    return socket;
  }
  const asio::error_code& failure() const { return failure_; }

  /// Whether there was an answer.
  bool shake_hands(tcp::socket& socket, const Hello& hello, MeetClock::time_point end, Welcome& welcome) {
    bool answered = false;
    asio::async_write(socket, asio::buffer(&hello, sizeof(hello)),
                      [](const asio::error_code&, std::size_t) {});
    asio::async_read(socket, asio::buffer(&welcome, sizeof(welcome)),
                     [&](const asio::error_code& error, std::size_t /*bytes*/) { answered = !error; });
    run_to_end(socket, end);
    return answered && socket.is_open() && welcome.magic == kTcpMagic;
  }

 private:
  /// Runs until the work that was begun on `socket` has ended; ends it at `end`.
  void run_to_end(tcp::socket& socket, MeetClock::time_point end) {
    io_.restart();
    io_.run_until(end);
    if (io_.stopped()) return;
    asio::error_code ignored;
    socket.close(ignored);
    io_.run();
  }

  asio::io_context io_{1};
  asio::error_code failure_;
};

Listener listener_at(Caller& caller, const std::string& host, const MeetingPoint& point) {
  tcp::socket socket = caller.connect(host, point.port, kShortestTry);
  if (!socket.is_open()) {
    return caller.failure() == asio::error::connection_refused ? Listener::nobody : Listener::unknown;
  }
  TcpTerms asking;
  asking.token = point.token;
  Welcome welcome;
  const auto end = MeetClock::now() + kShortestTry;
  const bool answered = caller.shake_hands(socket, hello_of(asking, kPresence, 0), end, welcome);
  // A process that is stopped does not answer; another program that has the port now does not speak like this.
  return answered || MeetClock::now() >= end ? Listener::somebody : Listener::nobody;
}

/// A rank that connects to those of lower numbers and then lets those of higher ones connect.
class Joining {
 public:
  explicit Joining(TcpTerms terms) : terms_(std::move(terms)) {
    check_terms(terms_);
    core::require(terms_.rank > 0, "rank 0 waits for the others and joins nobody");
  }

  std::shared_ptr<Meeting> join(const std::function<std::optional<MeetingPoint>()>& find) {
    find_leader(find);
    hear_where_all_are();
    for (int rank = 0; rank < terms_.rank; ++rank) {
      for (int link = 0; link < kTcpLinks; ++link) {
        if (!met_.has(link, rank)) link_to(rank, link);
      }
    }
    let_higher_ones_in();
    return met_.meeting();
  }

 private:
  /// Not open, and why, where nobody is there.
  tcp::socket connect(const std::string& host, std::uint16_t port, MeetClock::time_point end,
                      std::string& why) {
    const auto most = std::clamp<MeetClock::duration>(end - MeetClock::now(), kShortestTry, kLongestTry);
    tcp::socket socket = caller_.connect(host, port, most);
    if (!socket.is_open())
      why = fmt::format("{}:{} does not answer ({})", host, port, caller_.failure().message());
    return socket;
  }

  bool shake_hands(tcp::socket& socket, int link, MeetClock::time_point end, Welcome& welcome) {
    return caller_.shake_hands(socket, hello_of(terms_, link, door_->port()), end, welcome);
  }

  void find_leader(const std::function<std::optional<MeetingPoint>()>& find) {
    const auto end = MeetClock::now() + terms_.patience;
    std::string why = "it has not said where";
    for (;;) {
      const std::optional<MeetingPoint> point = find();
      if (point && point->hosts.empty()) why = point->why_not;
      for (std::size_t i = 0; point && i < point->hosts.size(); ++i) {
        if (greet_leader(point->hosts[i], *point, end, why)) return;
        // One that a person named; a folder has more, of which only some mean something here.
        const bool unknown_host = caller_.failure() == asio::error::host_not_found;
        core::require(!unknown_host || point->hosts.size() > 1, "there is no host {}", point->hosts[i]);
      }
      if (MeetClock::now() >= end) {
        throw core::BadInput(fmt::format("rank 0 was not met within {:.3g} s: {}; start it with --rank 0",
                                         std::chrono::duration<double>(terms_.patience).count(), why));
      }
      std::this_thread::sleep_for(kAskAgain);
    }
  }

  bool greet_leader(const std::string& host, const MeetingPoint& point, MeetClock::time_point end,
                    std::string& why) {
    tcp::socket socket = connect(host, point.port, end, why);
    if (!socket.is_open()) return false;
    asio::error_code error;
    const tcp::endpoint own = socket.local_endpoint(error);
    if (!error) leader_ = plain(socket.remote_endpoint(error).address()).to_string();
    if (error) return false;
    terms_.token = point.token;
    // Others may know this host by another address than that by which rank 0 is reached.
    const bool only_there = is_numeric(host) || is_local_name(host);
    door_ =
        door_at(incoming_, only_there ? std::optional(own.address()) : std::nullopt, 0, "this host", terms_);
    Welcome welcome;
    const auto answer_by = std::max(end, MeetClock::now() + kShortestTry);
    if (!shake_hands(socket, kPresence, answer_by, welcome)) {
      why = fmt::format("what listens at {}:{} does not answer as rank 0 does", host, point.port);
      return false;
    }
    require_accepted(welcome, 0);
    presence_.emplace(std::move(socket));
    return true;
  }

  static void require_accepted(const Welcome& welcome, int by) {
    core::require(welcome.accepted == 1, "rank {} refused this rank: {}", by, text_in(welcome.refusal));
  }

  /// As long as rank 0 waits for others.
  void hear_where_all_are() {
    Welcome welcome;
    asio::error_code error;
    asio::read(*presence_, asio::buffer(&welcome, sizeof(welcome)), error);
    if (error) throw RankMissing("rank 0 ended before all ranks were there", {0});
    if (welcome.accepted != 1) throw RankMissing(text_in(welcome.refusal), {});
    const bool can_be = welcome.ranks > terms_.rank && welcome.ranks <= kMostByTcp;
    if (!can_be) throw core::Error("what rank 0 says of the ranks cannot be");
    addresses_.resize(static_cast<std::size_t>(welcome.ranks));
    asio::read(*presence_, asio::buffer(addresses_), error);
    if (error) throw RankMissing("rank 0 ended before all ranks were there", {0});
    met_.make_room({terms_.rank, welcome.ranks});
    asio::error_code unknown;
    leader_port_ = presence_->remote_endpoint(unknown).port();
    met_.take(kPresence, 0, std::move(*presence_));
  }

  void link_to(int rank, int link) {
    const TcpAddress& address = addresses_[static_cast<std::size_t>(rank)];
    std::string host = rank == 0 ? leader_ : text_in(address.host);
    asio::error_code error;
    // Who reaches rank 0 by this is on the same host as rank 0.
    if (const auto number = asio::ip::make_address(host, error); !error && number.is_loopback())
      host = leader_;
    const auto end = MeetClock::now() + terms_.patience;
    std::string why;
    tcp::socket socket = connect(host, rank == 0 ? leader_port_ : address.port, end, why);
    core::require(socket.is_open(), "rank {} does not reach rank {}, as each rank must: {}", terms_.rank,
                  rank, why);
    Welcome welcome;
    if (!shake_hands(socket, link, end, welcome)) {
      throw RankMissing(fmt::format("rank {} ended while the ranks connected to each other", rank), {rank});
    }
    require_accepted(welcome, rank);
    met_.take(link, rank, std::move(socket));
  }

  void let_higher_ones_in() {
    const auto refusal_of = [this](const Hello& hello) -> std::string {
      const bool expected = hello.rank > terms_.rank && hello.rank < static_cast<int>(addresses_.size()) &&
                            !met_.has(hello.link, hello.rank);
      return expected ? "" : fmt::format("rank {} does not expect rank {}", terms_.rank, hello.rank);
    };
    door_->open(refusal_of, [this](Guest& guest) {
      met_.take(guest.hello.link, guest.hello.rank, std::move(guest.socket));
    });
    const auto unlinked = wait_for_ranks(
        incoming_, terms_.patience, [this] { return met_.missing(terms_.rank + 1); },
        [this] { throw_if_gone(met_); });
    door_->close();
    if (!unlinked.empty()) throw RankMissing(have_not_come(unlinked, terms_.patience), unlinked);
  }

  TcpTerms terms_;
  asio::io_context incoming_{1};
  Caller caller_;
  std::unique_ptr<TcpDoor> door_;
  std::optional<tcp::socket> presence_;  ///< to rank 0
  std::string leader_;                   ///< its address, as this rank reaches it
  std::uint16_t leader_port_ = 0;
  std::vector<TcpAddress> addresses_;
  MetRanks met_;
};

}  // namespace

Listener listener_at(const MeetingPoint& point) {
  Listener found = Listener::unknown;
  Caller caller;
  for (const std::string& host : point.hosts) {
    const Listener there = listener_at(caller, host, point);
    if (there == Listener::somebody) return there;
    if (there == Listener::nobody) found = there;
  }
  return found;
}

std::shared_ptr<Meeting> join_by_tcp(const std::function<std::optional<MeetingPoint>()>& find,
                                     TcpTerms terms) {
  return Joining(std::move(terms)).join(find);
}

}  // namespace warpscope::ranks
