#include "ui/panels/training/ranks_number.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/settings/division.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr int kMostOffered = 8;
constexpr float kRanksRoom = 84;  ///< design pixels

/// Why so many ranks cannot make the steps of this training.
std::string rank_refusal(const training::Snapshot& snapshot, int number) {
  if (number > 1 && !snapshot.user_kernels->kernels.empty())
    return "Kernels of your own run in one process: forget them first.";
  const training::TrainingSettings& settings = *snapshot.settings;
  try {
    training::divide(settings.optimizer, settings.batch, settings.deterministic, {0, number});
  } catch (const core::BadInput& error) {
    return sentence(error.what());
  }
  return "";
}

}  // namespace

std::vector<int> rank_choices(int now, int most) {
  if (most <= 1) return {now};
  std::set<int> numbers{now};
  for (int number = 1; number <= std::min(most, kMostOffered); number *= 2) numbers.insert(number);
  if (most <= kMostOffered) numbers.insert(most);
  return {numbers.begin(), numbers.end()};
}

RanksNumber ranks_number_of(const training::Snapshot& snapshot) {
  RanksNumber result;
  result.now = std::max(1, static_cast<int>(snapshot.ranks.size()));
  if (result.now == 1 && snapshot.most_ranks <= 1) return result;
  for (const int number : rank_choices(result.now, snapshot.most_ranks))
    result.choices.push_back({number, number == result.now ? "" : rank_refusal(snapshot, number)});
  if (snapshot.most_ranks <= 1) {
    result.why_not = snapshot.why_ranks_stay.empty() ? "Their number cannot change here."
                                                     : sentence(snapshot.why_ranks_stay);
  } else if (snapshot.can.steer) {
    result.why_not = why_it_stands(snapshot);
  }
  return result;
}

std::string ranks_word(int number) {
  return files::counted(number, "rank");
}

float ranks_number_width(const Frame& frame) {
  return kRanksRoom * frame.scale;
}

void draw_ranks_number(const Frame& frame, const char* name, const RanksNumber& number) {
  const Steering steering(frame);
  std::string tip =
      "How many ranks make the steps. Another number begins with the weights as they are; no step is lost.";
  if (!number.why_not.empty()) tip += "\n" + number.why_not;
  ImGui::BeginDisabled(!number.why_not.empty());
  if (begin_combo(frame, name, ranks_word(number.now), ranks_number_width(frame), tip)) {
    for (const RankChoice& choice : number.choices) {
      const std::string word = ranks_word(choice.number);
      const bool now = choice.number == number.now;
      if (combo_item(frame, fmt::format("{}.{}", name, choice.number).c_str(), word.c_str(), now, {},
                     choice.refusal) &&
          !now) {
        frame.send(training::SetRanks{choice.number});
      }
    }
    end_combo();
  }
  ImGui::EndDisabled();
}

}  // namespace warpscope::ui
