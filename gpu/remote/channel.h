#pragma once
// One end of a connection between two processes, or two threads of one: whole messages go both ways.

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "gpu/ranks/descriptor.h"

namespace warpscope::remote {

/// One thread may read while another writes.
class Channel {
 public:
  /// `socket`: a connected stream.
  explicit Channel(ranks::Descriptor socket) : socket_(std::move(socket)) {}

  const ranks::Descriptor& socket() const { return socket_; }
  /// Whether read() has something to do, within `patience`: a message begins, or the other end is closed.
  bool readable(std::chrono::milliseconds patience) const;
  /// A whole message (gpu/messages/bytes.h); nothing once the other end is closed. Throws core::BadInput for bytes that
  /// are no message.
  std::optional<std::string> read() const;
  /// False once the other end is closed.
  bool write(const std::string& message) const;
  /// The other end has nothing more to read; it may still write.
  void end_writing() const;
  /// The same, and whoever reads at this end stops.
  void end() const;

 private:
  bool fill(std::string& text, std::size_t done) const;

  ranks::Descriptor socket_;
};

/// Both ends of a new connection. Throws core::Error.
std::pair<Channel, Channel> make_connection();

}  // namespace warpscope::remote
