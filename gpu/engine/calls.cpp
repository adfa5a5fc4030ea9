#include "gpu/engine/calls.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "gpu/ranks/gather.h"

namespace warpscope::training::calls {
namespace {

std::string_view text_of(const std::vector<std::byte>& message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}

}  // namespace

Line::Line(std::unique_ptr<ranks::Group> group) : group_(std::move(group)) {}

Line::~Line() {
  try {
    give(End{});
  } catch (...) {
    // They have ended, or will when this process does.
  }
}

void Line::give(const Call& call) {
  if (!place().leads()) return;
  const auto* const restore = std::get_if<Restore>(&call);
  group_->note_purpose(restore != nullptr ? told(ranks::Joint::weights, restore->state.steps)
                                          : "the orders of rank 0");
  give_first(writer_.write(call));
}

std::string Line::told(ranks::Joint joint, std::uint64_t step) const {
  return ranks::told({joint, group_->medium()}, step);
}

Call Line::receive() {
  const std::vector<std::byte> message = group_->receive();
  return reader_.read<Call>(text_of(message));
}

void Line::give_first(const std::string& message) {
  group_->send(std::as_bytes(std::span(message)));
}

std::string Line::receive_first() {
  return std::string(text_of(group_->receive()));
}

void Line::settle(const std::string& failure, const std::string& purpose) {
  group_->note_purpose(purpose);
  const std::vector<std::string> all = ranks::gathered_texts(*group_, failure);
  refused_ = std::ranges::any_of(all, [](const std::string& each) { return !each.empty(); });
  if (failure.empty()) ranks::refuse_first(all);
}

std::vector<std::byte> Line::gather(std::span<const std::byte> mine, ranks::Joint joint, std::uint64_t step) {
  group_->note_purpose(told(joint, step));
  std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(place().size));
  group_->all_gather(mine, all);
  return all;
}

std::vector<RankFigures> Line::exchange(const RankReport& mine, std::uint64_t step) {
  group_->note_purpose(told(ranks::Joint::figures, step));
  std::vector<RankFigures> figures;
  std::vector<TimedSteps> timed;
  double least = std::numeric_limits<double>::infinity();
  for (const RankReport& each : ranks::gathered(*group_, mine)) {
    figures.push_back({.device = each.device.data(),
                       .name = each.name.data(),
                       .images = each.images,
                       .step_microseconds = each.step_microseconds,
                       .allreduce_microseconds = each.allreduce_microseconds,
                       .memory_bytes = each.memory_bytes,
                       .watts = each.load.watts,
                       .megahertz = each.load.megahertz});
    timed.push_back(each.newest);
    least = std::min(least, each.allreduce_microseconds);
  }
  const std::vector<AlignedStep> aligned = aligned_steps(timed, ranks::align_clocks(*group_));
  for (std::size_t rank = 0; rank < figures.size(); ++rank) {
    figures[rank].waiting_microseconds = figures[rank].allreduce_microseconds - least;
    figures[rank].newest = aligned[rank].step;
    figures[rank].clock_uncertainty = aligned[rank].uncertainty;
  }
  return figures;
}

}  // namespace warpscope::training::calls
