#pragma once
// Who connects by TCP, and what is said to them. Includes Asio: for the .cpp files that meet by TCP.

#include <asio.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/ranks/tcp_frames.h"
#include "gpu/ranks/tcp_group.h"
#include "gpu/ranks/tcp_meeting.h"

namespace warpscope::ranks {

/// A connection of which the first bytes say who it is.
struct Guest {
  explicit Guest(asio::ip::tcp::socket connected)
      : socket(std::move(connected)), patience(socket.get_executor()) {}

  asio::ip::tcp::socket socket;
  asio::steady_timer patience;
  Hello hello;
};

/// Lets those in who have the token and the version of `terms`.
class TcpDoor {
 public:
  using Judge = std::function<std::string(const Hello&)>;  ///< why not, as a sentence; "" if it may come in
  using Enter = std::function<void(Guest&)>;

  /// Listens at `address`. Throws BadInput that says why not, naming `where`.
  TcpDoor(asio::io_context& io, const asio::ip::tcp::endpoint& address, const std::string& where,
          const TcpTerms& terms);

  /// From now on, while the context runs. `judge` is asked of those who have token and version.
  void open(Judge judge, Enter enter);
  void close();
  std::uint16_t port() const { return port_; }

 private:
  void accept();
  void hear(const std::shared_ptr<Guest>& guest);
  void answer(Guest& guest);
  std::string refusal_of(const Hello& hello) const;

  const TcpTerms& terms_;
  asio::ip::tcp::acceptor acceptor_;
  std::uint16_t port_ = 0;
  Judge judge_;
  Enter enter_;
};

/// The sockets to others, by link and rank, while ranks meet.
class MetRanks {
 public:
  void make_room(Place place);
  bool has(int link, int rank) const { return at(link, rank).open(); }
  void take(int link, int rank, asio::ip::tcp::socket socket);
  /// Those among ranks `first` to the last to whom a link is missing.
  std::vector<int> missing(int first) const;
  /// Ranks that were there and are gone.
  std::vector<int> gone() const;
  /// As if it had never come.
  void drop(int rank) { sockets_[kPresence][static_cast<std::size_t>(rank)].close(); }
  /// Over the link of presence, before the meeting. False where the rank is gone.
  bool tell(int rank, std::span<const std::byte> bytes) const;
  std::shared_ptr<Meeting> meeting();

 private:
  const Descriptor& at(int link, int rank) const {
    return sockets_[static_cast<std::size_t>(link)][static_cast<std::size_t>(rank)];
  }

  Place place_;
  std::array<Sockets, kTcpLinks> sockets_;
};

/// Sets what all connections of ranks have: none waits to fill a packet, and hosts that do not answer are noticed.
void prepare(int socket);
/// Throws BadInput unless rank, number of ranks and token can be.
void check_terms(const TcpTerms& terms);
/// The address of IPv4 where IPv6 only wraps it.
asio::ip::address plain(const asio::ip::address& address);
/// Runs `io` until `done` or `end`. Returns whether it is done.
bool run_until(asio::io_context& io, std::chrono::steady_clock::time_point end,
               const std::function<bool()>& done);
/// What this rank says first on a link.
Hello hello_of(const TcpTerms& terms, int link, std::uint16_t port);

}  // namespace warpscope::ranks
