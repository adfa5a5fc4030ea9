#include "gpu/ranks/shared_region.h"

#include <bit>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <new>

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/require.h"

namespace warpscope::ranks {
namespace {

constexpr std::uint64_t kMagic = 0x736b6e6172707257;
constexpr char kVersion[] = WARPSCOPE_VERSION;
static_assert(sizeof(kVersion) <= sizeof(SharedHeader::version));
static_assert(Changes::is_always_lock_free && sizeof(Changes) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<Presence>::is_always_lock_free);

constexpr std::size_t kDataOffset = (sizeof(SharedState) + 4095) / 4096 * 4096;
constexpr std::size_t kSlots = 2;  // of a rank in a group: one is written while others still read the other

std::size_t region_bytes(int ranks) {
  return kDataOffset +
         Meeting::kGroups * (kRingBytes + static_cast<std::size_t>(ranks) * kSlots * kSlotBytes);
}

[[noreturn]] void cannot_share(int error) {
  throw core::Error(fmt::format("cannot make memory that ranks share: {}; free memory or use fewer ranks",
                                std::strerror(error)));
}

void* map_shared(int descriptor, std::size_t bytes) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (address == MAP_FAILED) cannot_share(errno);
  return address;
}

SharedHeader header_of(int descriptor) {
  SharedHeader header;
  struct stat file {};
  const bool read = ::pread(descriptor, &header, sizeof(header), 0) == ssize_t{sizeof(header)};
  core::require(read && ::fstat(descriptor, &file) == 0 && header.magic == kMagic,
                "file descriptor {} is no meeting of ranks; ranks are started by the program itself",
                descriptor);
  header.version.back() = '\0';
  core::require(std::strcmp(header.version.data(), kVersion) == 0,
                "rank 0 is version {} of the program and this rank is version {}; start the same on all",
                header.version.data(), kVersion);
  const bool whole = header.ranks >= 1 && header.ranks <= kMostSharing &&
                     header.bytes == region_bytes(header.ranks) &&
                     static_cast<std::uint64_t>(file.st_size) == header.bytes;
  core::require(whole, "the memory that ranks share by file descriptor {} is not whole; start them again",
                descriptor);
  return header;
}

bool process_ended(int process) {
  const Descriptor watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  // Systems without such descriptors see a process that nobody has waited for as running.
  if (!watched.open()) return ::kill(process, 0) != 0 && errno == ESRCH;
  pollfd entry{watched.number(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

std::vector<int> numbers(RankSet ranks) {
  std::vector<int> result;
  for (; ranks != 0; ranks &= ranks - 1) result.push_back(std::countr_zero(ranks));
  return result;
}

std::string names(const std::vector<int>& ranks) {
  std::string result = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) result += i + 1 == ranks.size() ? " and " : ", ";
    result += std::to_string(ranks[i]);
  }
  return result;
}

void tell_change(Changes& changes) {
  changes.fetch_add(1, std::memory_order_acq_rel);
  ::syscall(SYS_futex, &changes, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void wait_for_change(const Changes& changes, std::uint32_t before, std::chrono::nanoseconds most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec limit{static_cast<time_t>(seconds.count()), static_cast<long>((most - seconds).count())};
  ::syscall(SYS_futex, &changes, FUTEX_WAIT, before, &limit, nullptr, 0);
}

Region::Region(void* address, std::size_t bytes, Descriptor descriptor)
    : state_(static_cast<SharedState*>(address)), bytes_(bytes), descriptor_(std::move(descriptor)) {}

Region::~Region() {
  ::munmap(state_, bytes_);
}

std::shared_ptr<Region> Region::make(int ranks) {
  core::require(ranks >= 1 && ranks <= kMostSharing, "{} ranks cannot meet on one host; give 1 to {}", ranks,
                kMostSharing);
  const std::size_t bytes = region_bytes(ranks);
  Descriptor file =
      past_standard_ones(Descriptor(::memfd_create("warpscope-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!file.open() || ::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) cannot_share(errno);
  // A rank that reads past the end of a file that was cut would be killed without a sentence.
  if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) cannot_share(errno);

  void* const address = map_shared(file.number(), bytes);
  auto* const state = new (address) SharedState;
  state->header.magic = kMagic;
  state->header.bytes = bytes;
  state->header.ranks = ranks;
  std::memcpy(state->header.version.data(), kVersion, sizeof(kVersion));
  return std::shared_ptr<Region>(new Region(address, bytes, std::move(file)));
}

std::shared_ptr<Region> Region::open(int descriptor) {
  const SharedHeader header = header_of(descriptor);
  void* const address = map_shared(descriptor, header.bytes);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return std::shared_ptr<Region>(new Region(address, header.bytes, Descriptor()));
}

std::byte* Region::ring(int group) {
  const std::size_t slots = static_cast<std::size_t>(ranks()) * kSlots * kSlotBytes;
  return reinterpret_cast<std::byte*>(state_) + kDataOffset +
         static_cast<std::size_t>(group) * (kRingBytes + slots);
}

std::byte* Region::slot(int group, int rank, unsigned parity) {
  return ring(group) + kRingBytes + (static_cast<std::size_t>(rank) * kSlots + parity) * kSlotBytes;
}

RankSet Region::ended() const {
  RankSet result = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    const Presence presence = state_->ranks[rank].presence.load(std::memory_order_acquire);
    if (presence == Presence::left || presence == Presence::ended) result |= only(rank);
  }
  return result;
}

RankSet Region::lost() const {
  const RankSet all = ended();
  RankSet first = 0;
  for (const int rank : numbers(all)) {
    const int status = state_->ranks[rank].status.load(std::memory_order_relaxed);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != kOthersMissing) first |= only(rank);
  }
  return first == 0 && std::popcount(all) >= ranks() - 1 ? all : first;
}

RankSet Region::gone() const {
  RankSet result = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    const int process = state_->ranks[rank].process.load(std::memory_order_relaxed);
    if (process > 0 && process_ended(process)) result |= only(rank);
  }
  return result;
}

void Region::end(int rank, Presence presence, int status) {
  // What the system has told of its end holds.
  if (presence == Presence::left && state_->ranks[rank].presence.load() == Presence::ended) return;
  state_->ranks[rank].status.store(status, std::memory_order_relaxed);
  state_->ranks[rank].presence.store(presence, std::memory_order_release);
  for (SharedGroupState& group : state_->groups) {
    tell_change(group.arrivals);
    tell_change(group.sendings);
    tell_change(group.receivings);
  }
}

void Region::kill(int rank, std::chrono::milliseconds still) {
  SharedRank& shared = state_->ranks[rank];
  const int process = shared.process.load(std::memory_order_relaxed);
  if (process <= 0 || process == ::getpid() || (ended() & only(rank)) != 0) return;
  shared.still.store(static_cast<std::uint32_t>(still.count()), std::memory_order_relaxed);
  ::kill(process, SIGKILL);
}

std::string Region::fate(int rank) const {
  const SharedRank& shared = state_->ranks[rank];
  if (const std::uint32_t still = shared.still.load(std::memory_order_relaxed); still > 0)
    return fmt::format("rank {} stood still for {:.1f} s and was killed", rank, still / 1e3);
  if (shared.presence.load(std::memory_order_acquire) != Presence::ended)
    return fmt::format("rank {} ended", rank);
  const int status = shared.status.load(std::memory_order_relaxed);
  if (WIFSIGNALED(status)) {
    const char* const name = ::sigabbrev_np(WTERMSIG(status));
    return fmt::format("rank {} was killed by SIG{}", rank,
                       name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0)
    return fmt::format("rank {} ended with exit code {}", rank, WEXITSTATUS(status));
  return fmt::format("rank {} ended", rank);
}

}  // namespace warpscope::ranks
