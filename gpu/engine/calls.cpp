#include "gpu/engine/calls.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"

namespace warpscope::training::calls {
namespace {

constexpr std::size_t kFailureBytes = 512;

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
  if (place().leads()) give_first(writer_.write(call));
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
  std::array<char, kFailureBytes> mine{};
  std::copy_n(failure.data(), std::min(failure.size(), kFailureBytes - 1), mine.data());
  const auto all = ranks::gathered(*group_, mine);
  refused_ = std::ranges::any_of(all, [](const auto& each) { return each.front() != '\0'; });
  if (!failure.empty()) return;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].front() != '\0') throw core::BadInput(fmt::format("rank {}: {}", rank, all[rank].data()));
  }
}

std::vector<RankFigures> Line::exchange(const RankReport& mine) {
  group_->note_purpose("figures of the ranks");
  std::vector<RankFigures> figures;
  double least = std::numeric_limits<double>::infinity();
  for (const RankReport& each : ranks::gathered(*group_, mine)) {
    figures.push_back({each.device.data(), each.name.data(), each.images, each.step_microseconds,
                       each.allreduce_microseconds, 0, each.memory_bytes});
    least = std::min(least, each.allreduce_microseconds);
  }
  for (RankFigures& each : figures) each.waiting_microseconds = each.allreduce_microseconds - least;
  return figures;
}

}  // namespace warpscope::training::calls
