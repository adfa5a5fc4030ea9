#include "gpu/ranks/shared_meeting.h"

#include "gpu/core/require.h"
#include "gpu/ranks/shared_group.h"
#include "gpu/ranks/shared_region.h"

namespace warpscope::ranks {

SharedMeeting::SharedMeeting(std::shared_ptr<Region> region, int rank)
    : region_(std::move(region)),
      seat_(std::make_shared<Seat>(region_, rank)),
      seen_(static_cast<std::size_t>(region_->ranks())) {}

SharedMeeting::~SharedMeeting() = default;

std::string SharedMeeting::missing() const {
  std::string told;
  for (const int rank : lost()) told += (told.empty() ? "" : "; ") + fate(rank);
  return told;
}

std::vector<int> SharedMeeting::lost() const {
  return numbers(region_->lost() & ~only(place().rank));
}

/// Time is that of looks: a process that was stopped itself must not blame the others for it.
void SharedMeeting::look(std::chrono::milliseconds passed) const {
  region_->state().ranks[place().rank].beats.fetch_add(1, std::memory_order_relaxed);
  const bool begins = region_->patience().count() == 0;
  const auto patience = begins ? std::chrono::milliseconds(patience_to_begin_) : region_->patience();
  for (int rank = 1; rank < place().size && place().leads(); ++rank) {
    const std::uint32_t beats = region_->state().ranks[rank].beats.load(std::memory_order_relaxed);
    Seen& seen = seen_[static_cast<std::size_t>(rank)];
    seen = beats != seen.beats ? Seen{beats, {}} : Seen{beats, seen.since + passed};
    // Those that train have all looked.
    if ((beats > 0 || begins) && patience.count() > 0 && seen.since >= patience)
      region_->kill(rank, seen.since);
  }
}

void SharedMeeting::leave_after_others() {
  region_->end(place().rank, Presence::left, kOthersMissing << 8);
}

void SharedMeeting::set_patience(std::chrono::milliseconds patience) {
  region_->set_patience(patience);
}

void SharedMeeting::set_patience_to_begin(std::chrono::milliseconds patience) {
  patience_to_begin_ = patience.count();
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
