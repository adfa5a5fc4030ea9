#include "ui/frame/kept_views.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::ChannelActivations;
using training::Evaluation;
using training::Inspection;
using training::LatentMap;
using training::TextAttributions;

std::size_t size_of(const training::Distributions& distributions) {
  return std::accumulate(distributions.moments.begin(), distributions.moments.end(), std::size_t{0},
                         [](std::size_t sum, const auto& moment) { return sum + moment->bytes(); });
}

/// Whether only some images of the set are there, and the evaluation is of all.
bool lacks_images(const Evaluation& evaluation, const training::DataView* data) {
  if (data == nullptr || !evaluation.positions.empty()) return false;
  const training::ImageFacts& set =
      evaluation.split == training::Split::validation ? data->validation : data->test;
  return std::cmp_less(set.count, evaluation.image_losses.size());
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a < b ? b - a : a - b;
}

/// As any of the run's checkpoints is.
bool is_as_near(const training::Revival& revival, std::uint64_t step, std::uint64_t wanted) {
  return std::ranges::all_of(revival.steps, [&](std::uint64_t checkpoint) {
    return distance(step, wanted) <= distance(checkpoint, wanted);
  });
}

}  // namespace

void KeptViews::forget() {
  lanes_.clear();
  held_.clear();
  pasts_.clear();
  distributions_ = nullptr;
  distribution_bytes_ = 0;
  ++changes_;
}

void KeptViews::forget_after(std::uint64_t step) {
  lanes_.forget_after(step);
  held_.clear();
  ++changes_;
}

/// What a run tells before the window knows of its generation is of the one that comes.
void KeptViews::take(const training::KeptView& view) {
  if (view.generation > generation_ && lanes_.empty()) generation_ = view.generation;
  if (view.generation == generation_ && !has(view.seen)) add(view.seen);
}

void KeptViews::follow(const std::vector<training::FeedItem>& items) {
  for (const training::FeedItem& item : items) {
    if (const auto* const restart = std::get_if<training::Restart>(&item)) {
      forget();
      generation_ = restart->generation;
      step_ = 0;
    } else if (const auto* const back = std::get_if<training::Return>(&item)) {
      const bool own = back->from == generation_;
      const auto past = pasts_.find(back->from);
      const std::uint64_t common = own                    ? back->step
                                   : past == pasts_.end() ? 0
                                                          : std::min(back->step, past->second);
      if (own || past != pasts_.end()) {
        forget_after(common);
      } else {
        forget();
      }
      for (auto& [generation, step] : pasts_) step = std::min(step, common);
      pasts_[generation_] = common;
      generation_ = back->generation;
      step_ = back->step;
    } else if (const auto* const view = std::get_if<training::KeptView>(&item)) {
      take(*view);
    }
  }
}

/// False while nothing was told of the snapshot's generation; it comes a look later.
bool KeptViews::begin(const training::Snapshot& snapshot) {
  constexpr std::uint64_t kPatience = 60;
  if (snapshot.generation != generation_) {
    const bool newer = snapshot.generation > generation_;
    if (!(newer && lanes_.empty()) && ++untold_ < kPatience) return false;
    forget();
  } else if (snapshot.network_number != network_) {
    forget();
  } else if (snapshot.step < step_) {
    forget_after(snapshot.step);
  }
  untold_ = 0;
  generation_ = snapshot.generation;
  network_ = snapshot.network_number;
  step_ = snapshot.step;
  return true;
}

training::Observations KeptViews::note(const training::Snapshot& snapshot, training::Observations seen) {
  if (!begin(snapshot)) return seen;
  follow_data(snapshot);
  if (snapshot.settings->keep_history_mib > 0) {
    if (seen.network == network_) note_seen(seen);
    if (const auto& evaluation = snapshot.evaluation; evaluation && !has(evaluation)) add(evaluation);
    note_times(snapshot);
  }
  const std::size_t most = static_cast<std::size_t>(snapshot.settings->keep_history_mib) << 20;
  const std::size_t before = lanes_.bytes();
  lanes_.fit(most - std::min(most, distribution_bytes_));
  if (lanes_.bytes() != before) ++changes_;
  seen.distributions = with_recorded(seen.distributions);
  return seen;
}

/// A view of a run has other images with each of its evaluations.
void KeptViews::follow_data(const training::Snapshot& snapshot) {
  if (snapshot.data == data_) return;
  data_ = snapshot.data;
  lanes_.erase_if([](const Key& /*key*/, const auto& one) {
    const auto* const evaluation = std::get_if<std::shared_ptr<const Evaluation>>(&one.kept);
    return evaluation != nullptr && !(*evaluation)->positions.empty();
  });
  held_.erase(Kind::predictions);
}

void KeptViews::note_seen(const training::Observations& seen) {
  const auto keep = [this](const auto& one) {
    if (one && one->generation == generation_ && !has(one)) add(one);
  };
  keep(seen.inspection);
  keep(seen.activations);
  keep(seen.held_out_texts);
  const auto& latents = seen.latents;
  if (latents && latents->generation == generation_ && latents->problem.empty() &&
      lanes_.at({Kind::latents, 0}, latents->step) == nullptr)
    add(training::places_of(*latents));
  if (seen.distributions && seen.distributions != distributions_) {
    distributions_ = seen.distributions;
    distribution_bytes_ = size_of(*distributions_);
  }
}

/// Copied only where they will stay: snapshots come thirty times a second.
void KeptViews::note_times(const training::Snapshot& snapshot) {
  if (snapshot.step_microseconds <= 0 || !lanes_.wants({Kind::times, 0}, snapshot.step)) return;
  add(std::make_shared<const CallTimes>(
      CallTimes{snapshot.step, snapshot.timings, training::whole_step_microseconds(snapshot)}));
}

/// The same object, or of what comes as a copy anything of that step.
bool KeptViews::has(const Kept& kept) const {
  const auto* const found = lanes_.at(training::key_of(kept), training::step_of(kept));
  return found != nullptr &&
         (found->kept == kept || std::holds_alternative<std::shared_ptr<const LatentMap>>(kept));
}

void KeptViews::add(const Kept& kept) {
  const Key key = training::key_of(kept);
  if (key.first == Kind::distributions) ++changes_;
  lanes_.put(key, training::step_of(kept), training::bytes_of(kept), kept);
}

std::size_t KeptViews::bytes() const {
  return distribution_bytes_ + lanes_.bytes();
}

/// What was recorded and what was seen, by step; the same object while both are the same.
std::shared_ptr<const training::Distributions> KeptViews::with_recorded(
    const std::shared_ptr<const training::Distributions>& seen) {
  const auto lane = lanes_.lanes().find({Kind::distributions, 0});
  if (lane == lanes_.lanes().end()) return seen;
  if (joined_ && joined_with_ == seen && joined_changes_ == changes_) return joined_;
  const bool same_line = seen && seen->generation == generation_;
  std::map<std::uint64_t, std::shared_ptr<const training::DistributionMoment>> moments;
  auto all = std::make_shared<training::Distributions>();
  all->generation = generation_;
  for (const auto& one : lane->second.history.entries()) {
    const auto& recorded = std::get<std::shared_ptr<const training::SeenDistribution>>(one.kept);
    all->images = recorded->images;
    moments[one.step] = {recorded, &recorded->moment};
  }
  if (same_line) {
    all->images = seen->images;
    for (const auto& moment : seen->moments) moments.try_emplace(moment->step, moment);
  }
  for (const auto& [step, moment] : moments) all->moments.push_back(moment);
  joined_ = std::move(all);
  joined_with_ = seen;
  joined_changes_ = changes_;
  return joined_;
}

/// `newest` is what would be shown without a step; nullptr where there is nothing.
template <class T>
std::shared_ptr<const T> KeptViews::nearest(Key key, std::uint64_t wanted,
                                            const std::shared_ptr<const T>& newest) {
  Held best{key, wanted, 0, nullptr};
  const auto take = [&](std::uint64_t step, const std::shared_ptr<const void>& kept) {
    const bool same = step == best.step;  // looked at anew, perhaps with other weights beside it
    if (!best.kept || same || distance(step, wanted) < distance(best.step, wanted))
      best = {key, wanted, step, kept};
  };
  const auto held = held_.find(key.first);
  if (held != held_.end() && held->second.key == key && held->second.wanted == wanted) best = held->second;
  if (const auto* const found = lanes_.nearest(key, wanted))
    take(found->step, std::get<std::shared_ptr<const T>>(found->kept));
  if (newest) take(newest->step, newest);
  if (best.kept) held_[key.first] = best;
  return std::static_pointer_cast<const T>(best.kept);
}

/// In the place of what was kept: it is of the very step.
void KeptViews::take_aside(StepView& view, const Cursor& cursor, const training::AsideSeen& aside) {
  view.computed = true;
  training::Observations& seen = view.seen;
  if (aside.inspection && aside.inspection->image == cursor.image) seen.inspection = aside.inspection;
  if (aside.activations && aside.activations->output == cursor.output) seen.activations = aside.activations;
  if (aside.latents) seen.latents = aside.latents;
  if (aside.typed_text) seen.typed_text = aside.typed_text;
  if (aside.held_out_texts) seen.held_out_texts = aside.held_out_texts;
  if (aside.evaluation) view.evaluation = aside.evaluation;
  if (!aside.distributions || aside.distributions->moments.empty()) return;
  if (!with_aside_ || with_aside_of_ != seen.distributions || aside_ != aside.distributions) {
    with_aside_of_ = seen.distributions;
    aside_ = aside.distributions;
    auto all = std::make_shared<training::Distributions>(with_aside_of_ ? *with_aside_of_ : *aside_);
    all->generation = generation_;
    std::erase_if(all->moments, [&](const auto& moment) { return moment->step == aside.step; });
    const auto later =
        std::ranges::find_if(all->moments, [&](const auto& moment) { return moment->step > aside.step; });
    all->moments.insert(later, aside_->moments.back());
    with_aside_ = std::move(all);
  }
  seen.distributions = with_aside_;
}

std::shared_ptr<const Evaluation> KeptViews::evaluation_at(std::uint64_t wanted,
                                                           const training::Snapshot& snapshot) {
  const auto found = nearest<Evaluation>({Kind::predictions, 0}, wanted, snapshot.evaluation);
  if (!found || !lacks_images(*found, snapshot.data.get())) return found;
  if (found != counted_) {
    auto counts = std::make_shared<Evaluation>(*found);
    counts->image_losses.clear();
    counts->predicted.clear();
    counted_ = found;
    counts_ = std::move(counts);
  }
  return counts_;
}

std::optional<StepView> KeptViews::at(const Cursor& cursor, const training::Snapshot& snapshot,
                                      const training::Observations& seen) {
  if (!cursor.step) {
    held_.clear();
    return std::nullopt;
  }
  const std::uint64_t wanted = *cursor.step;
  StepView view{wanted, seen, nullptr, nullptr, false};
  const bool same_image = seen.inspection && seen.inspection->image == cursor.image;
  const Key image{Kind::activations, cursor.image},
      layer{Kind::answers, static_cast<std::int64_t>(cursor.output)};
  if (same_image || lanes_.nearest(image, wanted) != nullptr)
    view.seen.inspection = nearest<Inspection>(image, wanted, same_image ? seen.inspection : nullptr);
  const bool same_layer = seen.activations && seen.activations->output == cursor.output;
  if (same_layer || lanes_.nearest(layer, wanted) != nullptr)
    view.seen.activations =
        nearest<ChannelActivations>(layer, wanted, same_layer ? seen.activations : nullptr);
  view.seen.latents = nearest<LatentMap>({Kind::latents, 0}, wanted, seen.latents);
  if (const auto& map = view.seen.latents; map && map != seen.latents && !map->values.empty()) {
    view.seen.latents = training::places_of(*map);  // the decoder has the newest weights by now
    held_[Kind::latents].kept = view.seen.latents;
  }
  view.seen.held_out_texts = nearest<TextAttributions>({Kind::texts, 0}, wanted, seen.held_out_texts);
  view.evaluation = evaluation_at(wanted, snapshot);
  view.times = nearest<CallTimes>({Kind::times, 0}, wanted, nullptr);
  const bool now = view.times && (view.times->step == snapshot.step ||
                                  distance(snapshot.step, wanted) < distance(view.times->step, wanted));
  if (now) view.times = nullptr;
  const auto& aside = seen.aside;
  if (aside && aside->step == wanted && aside->generation == generation_) take_aside(view, cursor, *aside);
  return view;
}

std::shared_ptr<const Evaluation> shown_evaluation(const Frame& frame) {
  return frame.past != nullptr ? frame.past->evaluation : frame.snapshot.evaluation;
}

const CallTimes* past_times(const Frame& frame) {
  return frame.past != nullptr ? frame.past->times.get() : nullptr;
}

const std::vector<training::OpTiming>& shown_timings(const Frame& frame) {
  const CallTimes* const past = past_times(frame);
  return past != nullptr ? past->timings : frame.snapshot.timings;
}

std::optional<std::uint64_t> step_of_calls(const Frame& frame) {
  if (shown_timings(frame).empty()) return std::nullopt;
  const CallTimes* const past = past_times(frame);
  return past != nullptr ? past->step : frame.snapshot.step;
}

std::optional<std::uint64_t> step_of_evaluation(const Frame& frame) {
  const auto shown = shown_evaluation(frame);
  return shown ? std::optional(shown->step) : std::nullopt;
}

std::optional<std::uint64_t> step_of_inspection(const Frame& frame) {
  const auto& shown = frame.seen.inspection;
  return shown ? std::optional(shown->step) : std::nullopt;
}

std::optional<std::uint64_t> step_of_latents(const Frame& frame) {
  const auto& shown = frame.seen.latents;
  return shown ? std::optional(shown->step) : std::nullopt;
}

std::optional<std::uint64_t> step_of_distributions(const Frame& frame) {
  const auto& all = frame.seen.distributions;
  if (!all || all->moments.empty()) return std::nullopt;
  const auto& moments = all->moments;
  if (frame.past == nullptr) return moments.back()->step;
  const auto step = [&moments](std::size_t i) { return moments[i]->step; };
  return step(training::nearest_of(moments.size(), frame.past->wanted, step));
}

bool shows_activations(const Frame& frame) {
  return frame.cursor != nullptr && (frame.request != nullptr || frame.seen.inspection);
}

bool has_recorded_activations(const Frame& frame) {
  const auto& revival = frame.snapshot.revival;
  const auto& shown = frame.seen.inspection;
  if (frame.past == nullptr || !revival || !shown || shown->image != frame.cursor->image) return false;
  return is_as_near(*revival, shown->step, frame.past->wanted);
}

bool has_recorded_distributions(const Frame& frame) {
  const auto& revival = frame.snapshot.revival;
  const auto& all = frame.seen.distributions;
  if (!revival || !all) return false;
  return std::ranges::any_of(all->moments, [&](const auto& moment) {
    const bool near = frame.past == nullptr || is_as_near(*revival, moment->step, frame.past->wanted);
    return near && moment->step != revival->step;
  });
}

std::string step_line(std::uint64_t wanted, std::uint64_t shown) {
  const std::string step = "step " + with_thousands(shown);
  return shown == wanted ? step : fmt::format("{} (nearest kept to {})", step, with_thousands(wanted));
}

}  // namespace warpscope::ui
