#include "ui/panels/pictures/held_out.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/selection_chip.h"
#include "ui/panels/tinted_text.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

constexpr double kLeastSeconds = 1.0;  // between two evaluations that are shown

// Sorts a NaN as the largest loss, since comparisons with NaN are false.
float badness(float loss) {
  return std::isnan(loss) ? std::numeric_limits<float>::infinity() : loss;
}

bool selected(const HeldOut& held_out, const PredictionChoice& choice, int image) {
  const auto test_image = held_out.test_image(image);
  return choice.images.empty() || (test_image && is_selected(choice.images, *test_image));
}

bool chosen(const HeldOut& held_out, const PredictionChoice& choice, int image) {
  if (!selected(held_out, choice, image)) return false;
  if (choice.truth != kAnyClass && held_out.truth(image) != choice.truth) return false;
  if (choice.predicted != kAnyClass && held_out.predicted(image) != choice.predicted) return false;
  return choice.order != PredictionOrder::wrong_only || !held_out.right(image);
}

}  // namespace

training::DataPart HeldOut::part() const {
  return evaluation->split == training::Split::validation ? training::DataPart::validation
                                                          : training::DataPart::test;
}

int HeldOut::count() const {
  if (!evaluation || !data) return 0;
  const training::ImageFacts& set = images();
  return static_cast<int>(std::min({evaluation->image_losses.size(), evaluation->predicted.size(),
                                    set.labels.size(), static_cast<std::size_t>(set.count)}));
}

std::uint64_t HeldOut::evaluated() const {
  if (!evaluation) return 0;
  const std::vector<std::uint32_t>& counts = evaluation->confusion;
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t HeldOut::position(int image) const {
  const auto at = static_cast<std::size_t>(image);
  return at < evaluation->positions.size() ? evaluation->positions[at] : at;
}

std::optional<std::int64_t> HeldOut::test_image(int image) const {
  if (evaluation->split != training::Split::test) return std::nullopt;
  return static_cast<std::int64_t>(position(image));
}

bool HeldOut::has_texts() const {
  return evaluation && data && images().texts;
}

std::string HeldOut::text(int image) const {
  return shown_text(*data, part(), image);
}

std::u32string HeldOut::characters(int image) const {
  return shown_characters(text(image));
}

int HeldOut::truth(int image) const {
  return images().labels[static_cast<std::size_t>(image)];
}

int HeldOut::predicted(int image) const {
  return evaluation->predicted[static_cast<std::size_t>(image)];
}

double HeldOut::probability_of_truth(int image) const {
  return std::exp(-static_cast<double>(loss(image)));
}

std::string HeldOut::class_name(int index) const {
  return ui::class_name(data.get(), static_cast<std::size_t>(index));
}

bool EvaluationFollower::update(const HeldOut& newest, std::uint64_t generation, double now, bool still) {
  const bool restarted = generation != generation_ || !newest.evaluation;
  generation_ = generation;
  const bool newer = newest.evaluation != shown_.evaluation || newest.data != shown_.data;
  const bool first = !shown_.evaluation || restarted;
  const bool soon = now - taken_ < kLeastSeconds;
  held_ = newer && !first && still;
  waiting_ = newer && !first && !still && soon;
  if (!newer || held_ || waiting_) return false;
  shown_ = newest;
  taken_ = now;
  return true;
}

std::vector<int> arrange(const HeldOut& held_out, const PredictionChoice& choice) {
  std::vector<int> images;
  for (int image = 0; image < held_out.count(); ++image) {
    if (chosen(held_out, choice, image)) images.push_back(image);
  }
  if (choice.order == PredictionOrder::stored) return images;
  std::stable_sort(images.begin(), images.end(),
                   [&](int a, int b) { return badness(held_out.loss(a)) > badness(held_out.loss(b)); });
  return images;
}

std::uint64_t selected_images(const HeldOut& held_out, const std::vector<std::int64_t>& images) {
  PredictionChoice choice;
  choice.images = images;
  std::uint64_t count = 0;
  for (int image = 0; image < held_out.count(); ++image) count += selected(held_out, choice, image) ? 1 : 0;
  return count;
}

std::string pair_text(const HeldOut& held_out, const PredictionChoice& choice) {
  const std::string truth = held_out.class_name(choice.truth);
  if (choice.truth == choice.predicted) return truth + ", classified right";
  return fmt::format("{}, taken for {}", truth, held_out.class_name(choice.predicted));
}

std::uint64_t matching(const HeldOut& held_out, const PredictionChoice& choice) {
  const int classes = held_out.evaluation ? held_out.evaluation->classes : 0;
  std::uint64_t count = 0;
  for (int truth = 0; truth < classes; ++truth) {
    if (choice.truth != kAnyClass && choice.truth != truth) continue;
    for (int predicted = 0; predicted < classes; ++predicted) {
      if (choice.predicted != kAnyClass && choice.predicted != predicted) continue;
      if (choice.order == PredictionOrder::wrong_only && truth == predicted) continue;
      count += held_out.evaluation->confusion[static_cast<std::size_t>(truth * classes + predicted)];
    }
  }
  return count;
}

std::string count_text(const HeldOut& held_out, const PredictionChoice& choice, std::uint64_t shown) {
  const std::string evaluated = with_thousands(held_out.evaluated());
  const std::string_view split = training::to_string(held_out.evaluation->split);
  const std::string things = fmt::format("{}s", held_out.thing());
  const auto known = static_cast<std::uint64_t>(held_out.count());
  if (held_out.evaluated() <= known) {
    return fmt::format("Shown here, of {} {} {} that the network looked at.", evaluated, split, things);
  }
  constexpr std::string_view kView = "this view of another process's run knows";
  if (shown == known) {
    return fmt::format(
        "Shown here: the {} with the largest loss of {} {} {} that the network looked at; {} no others.",
        with_thousands(known), evaluated, split, things, kView);
  }
  return fmt::format(
      "Shown here: {} of {} {} of this choice; of {} {} {} that the network looked at, {} only the {} with "
      "the largest loss.",
      with_thousands(shown), with_thousands(matching(held_out, choice)), things, evaluated, split, things,
      kView, with_thousands(known));
}

std::string count_unit(const HeldOut& held_out, std::uint64_t shown) {
  const auto known = static_cast<std::uint64_t>(held_out.count());
  const std::string things = fmt::format("{}s", held_out.thing());
  if (held_out.evaluated() <= known) return shown == 1 ? held_out.thing() : things;
  const std::string worst = fmt::format("worst of {} {}", with_thousands(held_out.evaluated()), things);
  return shown == known ? worst : fmt::format("of the {} {}", with_thousands(known), worst);
}

std::string nothing_text(const HeldOut& held_out, const PredictionChoice& choice) {
  if (!choice.images.empty()) {
    return none_selected_text(choice.images.size(), matching(held_out, choice));
  }
  const std::string step = with_thousands(held_out.evaluation->step);
  const char* const thing = held_out.thing();
  const bool wrong = choice.order == PredictionOrder::wrong_only;
  const auto known = static_cast<std::uint64_t>(held_out.count());
  const std::uint64_t unknown = matching(held_out, choice);
  if (unknown > 0 && held_out.evaluated() > known) {
    const std::string images = unknown == 1 ? fmt::format("The 1 such {} is", thing)
                                            : fmt::format("{} such {}s are", with_thousands(unknown), thing);
    return fmt::format("{} not among the {} with the largest loss, and this view knows only those", images,
                       with_thousands(known));
  }
  if (choice.truth == kAnyClass) {
    return wrong ? fmt::format("No {} was classified wrong at step {}", thing, step)
                 : fmt::format("There are no held-out {}s", thing);
  }
  const std::string truth = held_out.class_name(choice.truth);
  if (choice.predicted == kAnyClass) {
    return wrong ? fmt::format("No {} of \u201c{}\u201d was classified wrong at step {}", thing, truth, step)
                 : fmt::format("None of the held-out {}s {} \u201c{}\u201d", thing,
                               held_out.has_texts() ? "is of" : "shows", truth);
  }
  if (choice.truth == choice.predicted) {
    return wrong ? fmt::format("These {}s were classified right: none of them is wrong", thing)
                 : fmt::format("No {} of \u201c{}\u201d was classified right at step {}", thing, truth, step);
  }
  return fmt::format("No {} of \u201c{}\u201d was taken for \u201c{}\u201d at step {}", thing, truth,
                     held_out.class_name(choice.predicted), step);
}

std::string no_predictions_text(const training::Snapshot& snapshot) {
  using training::TrainerState;
  if (snapshot.revival && snapshot.can.look_inside) return "The checkpoint is being looked into ...";
  if (!snapshot.can.look_inside && snapshot.evaluation) {
    return "The run's folder holds no predictions of single images; Confusion "
           "counts them.";
  }
  if (snapshot.state == TrainerState::preparing) return "No predictions yet: the training is being prepared.";
  if (snapshot.state == TrainerState::failed)
    return "No predictions: the training ended before the first evaluation.";
  std::string text =
      fmt::format("No predictions yet: the first evaluation, of {}, ",
                  files::counted(static_cast<std::int64_t>(snapshot.test_images), "held-out image"));
  if (snapshot.next_evaluation == 0) return text + "comes in some steps.";
  if (snapshot.step >= snapshot.next_evaluation) return text + "is under way.";
  const std::uint64_t steps = snapshot.next_evaluation - snapshot.step;
  text += fmt::format("begins after step {}, {} step{} from now", with_thousands(snapshot.next_evaluation),
                      with_thousands(steps), steps == 1 ? "" : "s");
  if (snapshot.state == TrainerState::paused) return text + ". The training is paused.";
  const double images =
      static_cast<double>(steps) * snapshot.settings->batch * snapshot.settings->optimizer.accumulate;
  if (snapshot.images_per_second <= 0) return text + ".";
  const double seconds = std::ceil(images / snapshot.images_per_second);
  constexpr double kMinute = 60;
  return seconds < 2 * kMinute ? fmt::format("{}: in about {:.0f} s.", text, seconds)
                               : fmt::format("{}: in about {:.0f} min.", text, seconds / kMinute);
}

std::string loss_text(float loss) {
  if (std::isnan(loss)) return "nan";
  if (std::isinf(loss)) return "inf";
  if (loss >= 1000) return fmt::format("{:.0e}", loss);
  if (loss >= 0.1f) return fmt::format("{:.{}f}", loss, loss < 10 ? 2 : loss < 100 ? 1 : 0);
  if (loss >= 0.001f || loss <= 0) return fmt::format("{:.{}f}", loss, loss >= 0.01f ? 3 : loss > 0 ? 4 : 0);
  return fmt::format("{:.0e}", loss);
}

}  // namespace warpscope::ui
