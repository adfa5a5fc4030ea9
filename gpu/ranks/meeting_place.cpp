#include "gpu/ranks/meeting_place.h"

#include <array>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/random.h>
#include <unistd.h>

#include "gpu/core/require.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/text.h"

namespace warpscope::ranks {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFirstLine = "warpscope meeting";
constexpr std::size_t kLongestFile = 1 << 16;
constexpr unsigned kOwnerOnly = 0600;

struct HostAndPort {
  std::string host;
  std::uint16_t port = 0;
};

std::optional<HostAndPort> host_and_port(std::string_view where) {
  const std::size_t colon = where.rfind(':');
  if (colon == std::string_view::npos || where.find('/') != std::string_view::npos) return std::nullopt;
  std::string_view host = where.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;  // an IPv6 address, of which nobody can tell where it ends
  }
  const auto port = files::number_in<std::uint16_t>(where.substr(colon + 1));
  if (host.empty() || !port || *port == 0) return std::nullopt;
  return HostAndPort{std::string(host), *port};
}

std::string random_token() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw core::Error("the system has no random bytes for a token; give one by WARPSCOPE_TOKEN");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

/// Its name, then the addresses of its networks: a name may mean nothing, or another address, elsewhere.
std::vector<std::string> names_of_this_host() {
  std::vector<std::string> names;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) names.emplace_back(name.data());
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return names;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    const unsigned state = one->ifa_flags & (IFF_UP | IFF_LOOPBACK);
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || state != IFF_UP) continue;
    std::array<char, NI_MAXHOST> address{};
    const int failed = ::getnameinfo(one->ifa_addr, sizeof(sockaddr_in), address.data(), address.size(),
                                     nullptr, 0, NI_NUMERICHOST);
    if (failed == 0) names.emplace_back(address.data());
  }
  ::freeifaddrs(first);
  names.emplace_back("127.0.0.1");
  return names;
}

std::string text_of(const MeetingPoint& point) {
  std::string text = fmt::format("{}\n{}\n{}\n", kFirstLine, point.port, point.token);
  for (const std::string& host : point.hosts) text += host + "\n";
  return text;
}

/// Nothing while rank 0 has not written the file.
std::optional<MeetingPoint> point_in(const fs::path& file) {
  std::string text;
  std::error_code unknown;
  if (!fs::exists(file, unknown)) return std::nullopt;
  try {
    text = files::read_text(file, kLongestFile);
  } catch (const core::BadInput&) {
    if (fs::exists(file, unknown)) throw;
    return std::nullopt;  // the ranks have met meanwhile
  }
  std::istringstream lines(text);
  std::string first;
  std::string port;
  MeetingPoint point;
  std::getline(lines, first);
  std::getline(lines, port);
  std::getline(lines, point.token);
  point.port = files::number_in<std::uint16_t>(port).value_or(0);
  for (std::string host; std::getline(lines, host);) point.hosts.push_back(host);
  core::require(first == kFirstLine && point.port != 0, "{} does not say where ranks meet; remove it",
                file.string());
  return point;
}

/// What rank 0 leaves in a folder while it waits.
class Notice {
 public:
  Notice(fs::path file, const MeetingPoint& point) : file_(std::move(file)), text_(text_of(point)) {
    files::AtomicFile whole(file_, kOwnerOnly);
    whole.write(text_);
    whole.commit();
  }
  ~Notice() {
    try {
      // Another training may have replaced it.
      if (files::read_text(file_, kLongestFile) != text_) return;
    } catch (const core::Error&) {
      return;
    }
    std::error_code ignored;
    fs::remove(file_, ignored);
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

 private:
  fs::path file_;
  std::string text_;
};

std::shared_ptr<Meeting> meet_in(const fs::path& folder, TcpTerms terms) {
  const fs::path file = folder / kMeetingFile;
  if (terms.rank != 0) return join_by_tcp([&] { return point_in(file); }, std::move(terms));
  if (terms.token.empty()) terms.token = random_token();
  const std::string token = terms.token;
  TcpFounding founding("", 0, std::move(terms));
  const Notice notice(file, {names_of_this_host(), founding.port(), token});
  return founding.meet();
}

}  // namespace

std::shared_ptr<Meeting> meet_at(const std::string& where, TcpTerms terms) {
  std::error_code unknown;
  if (fs::is_directory(where, unknown)) return meet_in(where, std::move(terms));
  const std::optional<HostAndPort> place = host_and_port(where);
  core::require(place.has_value(), "{} is neither HOST:PORT nor a folder", where);
  core::require(!terms.token.empty(), "ranks that meet at HOST:PORT need a token, the same for all");
  if (terms.rank == 0) return TcpFounding(place->host, place->port, std::move(terms)).meet();
  const MeetingPoint point{{place->host}, place->port, terms.token};
  return join_by_tcp([&] { return point; }, std::move(terms));
}

}  // namespace warpscope::ranks
