#include "gpu/ranks/meeting_place.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/require.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/text.h"
#include "gpu/ranks/descriptor.h"

namespace warpscope::ranks {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kFirstLine = "warpscope meeting";
constexpr std::size_t kLongestFile = 1 << 16;
constexpr unsigned kOwnerOnly = 0600;
// No name of a host holds a space.
constexpr std::string_view kBy = "by ";
constexpr std::string_view kJob = "job ";
constexpr int kMostAttempts = 100;  // others may be faster, but not that often
constexpr char kLoopback[] = "127.0.0.1";

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
  names.emplace_back(kLoopback);
  return names;
}

/// What rank 0 tells in a folder.
struct Told {
  MeetingPoint point;
  std::string by;   ///< "node1, process 123, since 2026-11-29 17:43:33"; "" where the file does not say
  std::string job;  ///< TcpTerms::job
};

std::string text_of(const Told& told) {
  std::string text = fmt::format("{}\n{}\n{}\n", kFirstLine, told.point.port, told.point.token);
  text += fmt::format("{}{}\n{}{}\n", kBy, told.by, kJob, told.job);
  for (const std::string& host : told.point.hosts) text += host + "\n";
  return text;
}

/// Nothing while rank 0 has not written the file, whose text is then in `text`.
std::optional<Told> told_in(const fs::path& file, std::string& text) {
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
  Told told;
  std::getline(lines, first);
  std::getline(lines, port);
  std::getline(lines, told.point.token);
  told.point.port = files::number_in<std::uint16_t>(port).value_or(0);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kBy)) {
      told.by = line.substr(kBy.size());
    } else if (line.starts_with(kJob)) {
      told.job = line.substr(kJob.size());
    } else {
      told.point.hosts.push_back(line);
    }
  }
  core::require(first == kFirstLine && told.point.port != 0, "{} does not say where ranks meet; remove it",
                file.string());
  return told;
}

std::string called(const Told& told) {
  return told.by.empty() ? "it does not say which" : files::sayable(told.by);
}

/// Whether the training that has written it still waits, as far as this host can tell. Throws BadInput where nobody can
/// tell.
bool still_waits(Told told, const fs::path& file) {
  const bool here = !told.point.hosts.empty() && (told.point.hosts.front() == names_of_this_host().front() ||
                                                  told.point.hosts.front() == kLoopback);
  if (!here) std::erase(told.point.hosts, kLoopback);  // that is another host
  switch (listener_at(told.point)) {
    case Listener::somebody:
      return true;
    case Listener::nobody:
      return false;
    case Listener::unknown:
      break;
  }
  throw core::BadInput(fmt::format(
      "another training waits for its ranks in {} ({}), which does not answer here: give this one another "
      "folder, or remove {} if that training has ended",
      file.parent_path().string(), called(told), file.string()));
}

bool is_still_at(const fs::path& file, int descriptor) {
  struct stat there {};
  struct stat held {};
  return ::stat(file.c_str(), &there) == 0 && ::fstat(descriptor, &held) == 0 &&
         there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

/// Takes the file away if this is its text. Who holds its lock is the only one to do so: what another training puts
/// there meanwhile stays.
void take_away(const fs::path& file, const std::string& text) {
  const Descriptor held(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!held.open()) return;
  while (::flock(held.number(), LOCK_EX) != 0 && errno == EINTR) continue;
  std::string now;
  std::error_code ignored;
  if (told_in(file, now) && now == text && is_still_at(file, held.number())) fs::remove(file, ignored);
}

/// What rank 0 leaves in a folder while it waits.
class Notice {
 public:
  /// Throws BadInput that names the other training where one waits there already. What one has left that has ended
  /// goes.
  Notice(fs::path file, const Told& told) : file_(std::move(file)), text_(text_of(told)) {
    for (int attempts = 0; !put(); ++attempts) {
      core::require(attempts < kMostAttempts,
                    "cannot replace {}, which a training left that has ended; remove it", file_.string());
      std::string text;
      const std::optional<Told> other = told_in(file_, text);
      if (!other) continue;
      core::require(!still_waits(*other, file_),
                    "another training waits for its ranks in {} ({}): give this one another folder, or wait "
                    "until they have met",
                    file_.parent_path().string(), called(*other));
      take_away(file_, text);
    }
  }
  ~Notice() {
    try {
      take_away(file_, text_);
    } catch (const core::Error&) {
      return;  // another training may have replaced it
    }
  }
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

 private:
  bool put() const {
    files::AtomicFile whole(file_, kOwnerOnly);
    whole.write(text_);
    return whole.commit_if_new();
  }

  fs::path file_;
  std::string text_;
};

/// Where a rank is to go that knows `terms`.
std::optional<MeetingPoint> point_in(const fs::path& file, const TcpTerms& terms) {
  std::string text;
  std::optional<Told> told = told_in(file, text);
  if (!told) return std::nullopt;
  if (!terms.job.empty() && !told->job.empty() && told->job != terms.job) {
    MeetingPoint nowhere;
    nowhere.why_not = fmt::format("the ranks of {} meet in {} ({})", files::sayable(told->job),
                                  file.parent_path().string(), called(*told));
    return nowhere;
  }
  // Rank 0 refuses a rank that was given another token.
  if (!terms.token.empty()) told->point.token = terms.token;
  return std::move(told->point);
}

std::shared_ptr<Meeting> meet_in(const fs::path& folder, TcpTerms terms) {
  const fs::path file = folder / kMeetingFile;
  if (terms.rank != 0) return join_by_tcp([&file, terms] { return point_in(file, terms); }, terms);
  if (terms.token.empty()) terms.token = random_token();
  const std::string token = terms.token;
  const std::string job = terms.job;
  TcpFounding founding("", 0, std::move(terms));
  const std::vector<std::string> hosts = names_of_this_host();
  const auto now = fmt::localtime(std::time(nullptr));
  const std::string by =
      fmt::format("{}, process {}, since {:%Y-%m-%d %H:%M:%S}", hosts.front(), ::getpid(), now);
  const Notice notice(file, {{hosts, founding.port(), token}, by, job});
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
  const MeetingPoint point{{place->host}, place->port, terms.token, ""};
  return join_by_tcp([&] { return point; }, std::move(terms));
}

}  // namespace warpscope::ranks
