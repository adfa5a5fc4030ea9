#include "gpu/remote/channel.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "gpu/core/error.h"
#include "gpu/messages/bytes.h"

namespace warpscope::remote {

using training::MessageHead;

std::pair<Channel, Channel> make_connection() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw core::Error(fmt::format("no connection can be made: {}", std::strerror(errno)));
  return {Channel(ranks::past_standard_ones(ranks::Descriptor(ends[0]))),
          Channel(ranks::past_standard_ones(ranks::Descriptor(ends[1])))};
}

bool Channel::readable(std::chrono::milliseconds patience) const {
  pollfd asked{socket_.number(), POLLIN, 0};
  return ::poll(&asked, 1, static_cast<int>(patience.count())) > 0;
}

std::optional<std::string> Channel::read() const {
  std::string text(MessageHead::kBytes, '\0');
  if (!fill(text, 0)) return std::nullopt;
  text.resize(MessageHead::kBytes + MessageHead::read(text).length);
  return fill(text, MessageHead::kBytes) ? std::optional(std::move(text)) : std::nullopt;
}

bool Channel::fill(std::string& text, std::size_t done) const {
  while (done < text.size()) {
    const ssize_t count = ::recv(socket_.number(), text.data() + done, text.size() - done, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

bool Channel::write(const std::string& message) const {
  for (std::size_t done = 0; done < message.size();) {
    const ssize_t count =
        ::send(socket_.number(), message.data() + done, message.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

void Channel::end_writing() const {
  ::shutdown(socket_.number(), SHUT_WR);
}

void Channel::end() const {
  ::shutdown(socket_.number(), SHUT_RDWR);
}

}  // namespace warpscope::remote
