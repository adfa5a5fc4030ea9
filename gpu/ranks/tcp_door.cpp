#include "gpu/ranks/tcp_door.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "gpu/core/require.h"

namespace warpscope::ranks {
namespace {

using asio::ip::tcp;
constexpr auto kHelloWithin = std::chrono::seconds(5);

// A host that does not answer is known to be gone after half a minute.
constexpr int kIdleSeconds = 15;
constexpr int kProbeSeconds = 5;
constexpr int kProbes = 3;

void close_on_exec(int socket) {
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
}

void set_number(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof(value));
}

void shake_off(tcp::socket& socket) {
  asio::error_code ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  socket.close(ignored);
}

std::string why_not(const asio::error_code& error, const std::string& where) {
  switch (error.value()) {
    case EADDRINUSE:
      return fmt::format("{} is in use by another program; give another port", where);
    case EADDRNOTAVAIL:
      return fmt::format("{} is no address of this host; rank 0 listens there, so start it on that host",
                         where);
    default:
      return fmt::format("cannot listen at {}: {}", where, error.message());
  }
}

}  // namespace

TcpDoor::TcpDoor(asio::io_context& io, const tcp::endpoint& address, const std::string& where,
                 const TcpTerms& terms)
    : terms_(terms), acceptor_(io) {
  try {
    acceptor_.open(address.protocol());
    // The port of a training that has just ended can be had again; one at which somebody listens cannot.
    acceptor_.set_option(tcp::acceptor::reuse_address(true));
    if (address.address().is_v6()) acceptor_.set_option(asio::ip::v6_only(false));
    acceptor_.bind(address);
    acceptor_.listen();
  } catch (const asio::system_error& error) {
    throw core::BadInput(why_not(error.code(), where));
  }
  close_on_exec(acceptor_.native_handle());
  port_ = acceptor_.local_endpoint().port();
}

void TcpDoor::open(Judge judge, Enter enter) {
  judge_ = std::move(judge);
  enter_ = std::move(enter);
  accept();
}

void TcpDoor::close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
}

void TcpDoor::accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error && error != asio::error::connection_aborted) {
      throw core::Error(fmt::format("cannot let other ranks connect: {}", error.message()));
    }
    if (!error) hear(std::make_shared<Guest>(std::move(socket)));
    accept();
  });
}

void TcpDoor::hear(const std::shared_ptr<Guest>& guest) {
  close_on_exec(guest->socket.native_handle());
  guest->patience.expires_after(kHelloWithin);
  guest->patience.async_wait([guest](const asio::error_code& error) {
    asio::error_code ignored;
    if (!error) guest->socket.cancel(ignored);
  });
  asio::async_read(guest->socket, asio::buffer(&guest->hello, sizeof(Hello)),
                   [this, guest](const asio::error_code& error, std::size_t /*bytes*/) {
                     guest->patience.cancel();
                     // Who speaks another language is not answered.
                     if (!error && guest->hello.magic == kTcpMagic) answer(*guest);
                   });
}

std::string TcpDoor::refusal_of(const Hello& hello) const {
  Hello expected;
  fill_in(expected.token, terms_.token);
  if (!same_token(hello.token, expected.token)) {
    return fmt::format("its token is not that of rank {}; give the same to all ranks", terms_.rank);
  }
  const std::string version = text_in(hello.version);
  if (version != terms_.version) {
    return fmt::format("it is version {} of the program and rank {} is version {}; start the same on all",
                       version, terms_.rank, terms_.version);
  }
  if (hello.link < 0 || hello.link >= kTcpLinks) return "it asks for a connection that there is not";
  return judge_(hello);
}

void TcpDoor::answer(Guest& guest) {
  asio::error_code error;
  const tcp::endpoint from = guest.socket.remote_endpoint(error);
  if (error) return;
  const std::string refusal = refusal_of(guest.hello);
  Welcome welcome;
  welcome.accepted = refusal.empty() ? 1 : 0;
  fill_in(welcome.refusal, refusal);
  asio::write(guest.socket, asio::buffer(&welcome, sizeof(welcome)), error);
  if (!refusal.empty()) {
    shake_off(guest.socket);
    if (terms_.tell) {
      terms_.tell(fmt::format("rank {} at {} was refused: {}", guest.hello.rank,
                              plain(from.address()).to_string(), refusal));
    }
  } else if (!error) {
    enter_(guest);
  }
}

void MetRanks::make_room(Place place) {
  place_ = place;
  for (Sockets& sockets : sockets_) sockets.resize(static_cast<std::size_t>(place.size));
}

void MetRanks::take(int link, int rank, tcp::socket socket) {
  const int number = socket.release();
  prepare(number);
  sockets_[static_cast<std::size_t>(link)][static_cast<std::size_t>(rank)] = Descriptor(number);
}

std::vector<int> MetRanks::missing(int first) const {
  std::vector<int> result;
  for (int rank = first; rank < place_.size; ++rank) {
    bool whole = rank == place_.rank;
    if (!whole)
      whole = std::ranges::all_of(std::array{0, 1, kPresence}, [&](int link) { return has(link, rank); });
    if (!whole) result.push_back(rank);
  }
  return result;
}

std::vector<int> MetRanks::gone() const {
  std::vector<int> result;
  for (int rank = 0; rank < place_.size; ++rank) {
    if (!has(kPresence, rank)) continue;
    pollfd entry{at(kPresence, rank).number(), POLLRDHUP, 0};
    if (::poll(&entry, 1, 0) > 0) result.push_back(rank);
  }
  return result;
}

std::shared_ptr<Meeting> MetRanks::meeting() {
  return std::make_shared<TcpMeeting>(place_, std::move(sockets_));
}

bool MetRanks::tell(int rank, std::span<const std::byte> bytes) const {
  // They are few, so the system has room for all.
  const ssize_t sent = ::send(at(kPresence, rank).number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

void prepare(int socket) {
  close_on_exec(socket);
  set_number(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_number(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_number(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_number(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

void check_terms(const TcpTerms& terms) {
  const bool leads = terms.rank == 0;
  core::require(!leads || (terms.ranks >= 1 && terms.ranks <= kMostByTcp),
                "rank 0 must know how many ranks meet; give 1 to {}", kMostByTcp);
  core::require(terms.rank >= 0 && terms.rank<(terms.ranks > 0 ? terms.ranks : kMostByTcp),
                                              "there is no rank {} among {} ranks", terms.rank, terms.ranks> 0
                    ? terms.ranks
                    : kMostByTcp);
}

asio::ip::address plain(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

bool run_until(asio::io_context& io, std::chrono::steady_clock::time_point end,
               const std::function<bool()>& done) {
  while (!done()) {
    io.restart();
    // One handler at a time: what follows from it may be that all is done.
    if (io.run_one_until(end) == 0 && std::chrono::steady_clock::now() >= end) return done();
  }
  return true;
}

Hello hello_of(const TcpTerms& terms, int link, std::uint16_t port) {
  Hello hello;
  fill_in(hello.token, terms.token);
  fill_in(hello.version, terms.version);
  hello.rank = terms.rank;
  hello.ranks = terms.ranks;
  hello.link = link;
  hello.port = port;
  return hello;
}

}  // namespace warpscope::ranks
