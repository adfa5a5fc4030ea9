#include "gpu/ranks/gather.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace warpscope::ranks {
namespace {

constexpr std::size_t kTextBytes = 512;
constexpr std::size_t kTradedBytes = std::size_t{1}
                                     << 20;  // at once: those who only come along need as much memory

}  // namespace

std::vector<std::string> gathered_texts(Group& group, const std::string& mine) {
  std::array<char, kTextBytes> text{};
  std::copy_n(mine.data(), std::min(mine.size(), kTextBytes - 1), text.data());
  std::vector<std::string> texts;
  for (const auto& each : gathered(group, text)) texts.emplace_back(each.data());
  return texts;
}

void refuse_first(const std::vector<std::string>& failures) {
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (!failures[rank].empty()) throw core::BadInput(fmt::format("rank {}: {}", rank, failures[rank]));
  }
}

std::vector<std::byte> brought(Group& group, int from, std::size_t bytes, std::span<const std::byte> mine) {
  const bool gives = group.place().rank == from, takes = group.place().leads();
  std::vector<std::byte> all(takes ? bytes : 0);
  const std::size_t most = std::min(bytes, kTradedBytes);
  std::vector<std::byte> room(takes ? 0 : most), unused(gives ? 0 : most);
  for (std::size_t begin = 0; begin < bytes; begin += kTradedBytes) {
    const std::size_t count = std::min(bytes - begin, kTradedBytes);
    group.trade(0, from, gives ? mine.subspan(begin, count) : std::span<const std::byte>(unused).first(count),
                takes ? std::span(all).subspan(begin, count) : std::span(room).first(count));
  }
  return all;
}

std::vector<std::vector<std::byte>> collected(Group& group, std::span<const std::byte> mine) {
  const std::vector<std::uint64_t> sizes = gathered(group, std::uint64_t{mine.size()});
  const bool leads = group.place().leads();
  std::vector<std::vector<std::byte>> all;
  if (leads) all.emplace_back(mine.begin(), mine.end());
  for (int rank = 1; rank < group.place().size; ++rank) {
    std::vector<std::byte> theirs = brought(group, rank, sizes[static_cast<std::size_t>(rank)], mine);
    if (leads) all.push_back(std::move(theirs));
  }
  return all;
}

}  // namespace warpscope::ranks
