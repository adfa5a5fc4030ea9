#include "ui/panels/ranks_number.h"

#include <algorithm>
#include <set>
#include <string>

#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kMostOffered = 8;

}  // namespace

std::vector<int> rank_choices(int now, int most) {
  if (most <= 1) return {now};
  std::set<int> numbers{now};
  for (int number = 1; number <= std::min(most, kMostOffered); number *= 2) numbers.insert(number);
  if (most <= kMostOffered) numbers.insert(most);
  return {numbers.begin(), numbers.end()};
}

void draw_ranks_number(const Frame& frame) {
  const int now = std::max(1, static_cast<int>(frame.snapshot.ranks.size()));
  const std::vector<int> numbers = rank_choices(now, frame.snapshot.most_ranks);
  if (numbers.size() < 2) return;
  std::vector<std::string> texts;
  std::vector<const char*> labels;
  for (const int number : numbers) texts.push_back(std::to_string(number));
  for (const std::string& text : texts) labels.push_back(text.c_str());
  auto chosen = static_cast<int>(std::ranges::find(numbers, now) - numbers.begin());
  const char* const tip =
      "How many ranks make the steps. Another number begins with the weights as they are; no step is lost.";
  caption(frame, "ranks");
  tooltip(frame, tip);
  const Steering steering(frame);
  if (!segmented_in_row(frame, 8, "ranks.number", labels, &chosen, tip)) return;
  frame.send(training::SetRanks{numbers[static_cast<std::size_t>(chosen)]});
}

}  // namespace warpscope::ui
