#include "gpu/ranks/shared_meeting.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/require.h"
#include "gpu/ranks/shared_group.h"
#include "gpu/ranks/shared_region.h"

namespace warpscope::ranks {
namespace {

/// The system may take that long to start a process on a busy host.
constexpr std::chrono::milliseconds kFirstAnswer(5000);

/// Whether somebody has stopped the process, as a terminal or a debugger does.
bool is_stopped(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_ends = text.rfind(')');  // a name may hold anything
  if (name_ends == std::string::npos || name_ends + 2 >= text.size()) return false;
  const char state = text[name_ends + 2];
  return state == 'T' || state == 't';
}

}  // namespace

SharedMeeting::SharedMeeting(std::shared_ptr<Region> region, int rank)
    : region_(std::move(region)),
      seat_(std::make_shared<Seat>(region_, rank)),
      silence_(region_->ranks(), kFirstAnswer) {}

SharedMeeting::~SharedMeeting() = default;

std::string SharedMeeting::missing() const {
  std::string told;
  for (const int rank : lost()) told += (told.empty() ? "" : "; ") + fate(rank);
  return told;
}

std::vector<int> SharedMeeting::lost() const {
  return numbers(region_->lost() & ~only(place().rank));
}

void SharedMeeting::look(std::chrono::milliseconds passed) const {
  SharedState& state = region_->state();
  state.ranks[place().rank].beats.fetch_add(1, std::memory_order_relaxed);
  if (!place().leads()) return;
  const auto patience = begins_ ? std::chrono::milliseconds(patience_to_begin_) : region_->patience();
  for (int rank = 1; rank < place().size; ++rank) {
    const std::uint32_t beats = state.ranks[rank].beats.load(std::memory_order_relaxed);
    const auto since = silence_.note(rank, beats, passed);
    // Those that train have all looked.
    if ((beats > 0 || begins_) && patience.count() > 0 && since >= patience) region_->kill(rank, since);
  }
  if (!begins_) return;
  const auto process = [&state](int rank) {
    return state.ranks[rank].process.load(std::memory_order_relaxed);
  };
  silence_.tell([&](int rank) { return fmt::format("rank {} (pid {})", rank, process(rank)); },
                [&](int rank) { return is_stopped(process(rank)); });
}

void SharedMeeting::leave_after_others() {
  region_->end(place().rank, Presence::left, kOthersMissing << 8);
}

void SharedMeeting::set_patience(std::chrono::milliseconds patience) {
  begins_ = false;
  region_->set_patience(patience);
}

void SharedMeeting::set_patience_to_begin(std::chrono::milliseconds patience) {
  patience_to_begin_ = patience.count();
  begins_ = true;
}

void SharedMeeting::tell_silent(const TellSlow& tell) {
  silence_.tell_to(tell);
}

void SharedMeeting::note_process(int rank, int process) {
  region_->state().ranks[rank].process.store(process, std::memory_order_relaxed);
}

void SharedMeeting::end_others() {
  for (int rank = 1; rank < place().size; ++rank) region_->kill(rank);
}

Place SharedMeeting::place() const {
  return seat_->place();
}

std::unique_ptr<Group> SharedMeeting::group(int number, TellSlow tell_slow) {
  core::require(number >= 0 && number < kGroups, "there is no group {} of ranks", number);
  core::require(!given_[number].exchange(true), "group {} of ranks is in use already", number);
  return std::make_unique<SharedGroup>(seat_, number, std::move(tell_slow));
}

int SharedMeeting::descriptor() const {
  return region_->descriptor();
}

void SharedMeeting::mark_ended(int rank, int status) {
  region_->end(rank, Presence::ended, status);
}

void SharedMeeting::leave() {
  region_->end(place().rank, Presence::left, 0);
}

std::vector<int> SharedMeeting::ended() const {
  return numbers(region_->ended());
}

std::string SharedMeeting::fate(int rank) const {
  return region_->fate(rank);
}

std::shared_ptr<SharedMeeting> found_meeting(int ranks) {
  return std::make_shared<SharedMeeting>(Region::make(ranks), 0);
}

std::shared_ptr<SharedMeeting> join_meeting(int descriptor, int rank) {
  return std::make_shared<SharedMeeting>(Region::open(descriptor), rank);
}

std::shared_ptr<SharedMeeting> join_meeting(const SharedMeeting& founded, int rank) {
  return std::make_shared<SharedMeeting>(founded.region(), rank);
}

}  // namespace warpscope::ranks
