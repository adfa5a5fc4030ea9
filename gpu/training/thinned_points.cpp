#include "gpu/training/thinned_points.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace warpscope::training {

std::optional<std::uint64_t> step_of(const FeedItem& item) {
  return std::visit(
      [](const auto& value) -> std::optional<std::uint64_t> {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Point> || std::is_same_v<T, Marker>) {
          return value.step;
        } else {
          return std::nullopt;
        }
      },
      item);
}

void ThinnedPoints::Thinned::add(const FeedItem& item) {
  last = item;
  if (seen++ % stride != 0) return;
  kept.push_back(item);
  if (kept.size() <= kMost) return;
  std::size_t place = 0;
  std::erase_if(kept, [&place](const FeedItem&) { return place++ % 2 == 1; });
  stride *= 2;
}

void ThinnedPoints::begin(std::uint64_t number) {
  generations_.emplace_back();
  generations_.back().number = number;
  if (generations_.size() > kMostGenerations) generations_.pop_front();
}

void ThinnedPoints::go_back(const Return& back) {
  const auto from = std::find_if(generations_.begin(), generations_.end(),
                                 [&](const Generation& each) { return each.number == back.from; });
  Generation again = from == generations_.end() ? Generation{} : *from;
  again.number = back.generation;
  const auto later = [&](const FeedItem& item) { return step_of(item).value_or(0) > back.step; };
  for (Thinned* each : {&again.steps, &again.tests, &again.markers}) {
    std::erase_if(each->kept, later);
    if (each->last && later(*each->last)) each->last.reset();
  }
  begin(back.generation);
  generations_.back() = std::move(again);
}

void ThinnedPoints::note(const FeedItem& item) {
  Generation& now = generations_.back();
  if (const auto* const restart = std::get_if<Restart>(&item)) return begin(restart->generation);
  if (const auto* const back = std::get_if<Return>(&item)) return go_back(*back);
  if (std::holds_alternative<Marker>(item)) return now.markers.add(item);
  if (const auto* const point = std::get_if<Point>(&item))
    (point->split == Split::train ? now.steps : now.tests).add(item);
}

std::vector<FeedItem> ThinnedPoints::items() const {
  std::vector<FeedItem> all;
  const Generation& now = generations_.back();
  for (const Thinned* each : {&now.steps, &now.tests, &now.markers}) {
    all.insert(all.end(), each->kept.begin(), each->kept.end());
    const bool has_last =
        !each->kept.empty() && each->last && step_of(*each->last) == step_of(each->kept.back());
    if (each->last && !has_last) all.push_back(*each->last);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const FeedItem& a, const FeedItem& b) { return step_of(a) < step_of(b); });
  return all;
}

}  // namespace warpscope::training
