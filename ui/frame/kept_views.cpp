#include "ui/frame/kept_views.h"

#include <algorithm>
#include <numeric>
#include <variant>

#include <fmt/format.h>

#include "ui/panels/time_rows.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::ChannelActivations;
using training::Evaluation;
using training::Inspection;
using training::LatentMap;
using training::TextAttributions;

template <class T>
std::size_t bytes_of(const std::vector<T>& values) {
  return values.size() * sizeof(T);
}

std::size_t bytes_of(const std::vector<training::OpTiming>& timings) {
  std::size_t bytes = timings.size() * sizeof(training::OpTiming);
  for (const training::OpTiming& one : timings)
    bytes += one.layer.size() + one.variant.size() + one.previous_variant.size() + one.reason.size() +
             bytes_of(one.covers);
  return bytes;
}

std::size_t bytes_of(const Inspection& inspection) {
  std::size_t bytes = bytes_of(inspection.parameters) + bytes_of(inspection.gradients);
  for (const training::LayerOutput& output : inspection.outputs) bytes += bytes_of(output.values);
  return bytes;
}

std::size_t bytes_of(const ChannelActivations& answers) {
  return bytes_of(answers.means) + bytes_of(answers.maxima);
}

std::size_t bytes_of(const LatentMap& map) {
  return bytes_of(map.scores) + bytes_of(map.sigmas) + bytes_of(map.shares);
}

std::size_t bytes_of(const TextAttributions& all) {
  std::size_t bytes = 0;
  for (const training::TextAttribution& one : all.texts)
    bytes += one.text.size() + bytes_of(one.scores) + bytes_of(one.shares) + bytes_of(one.known);
  return bytes;
}

std::size_t bytes_of(const Evaluation& evaluation) {
  return bytes_of(evaluation.image_losses) + bytes_of(evaluation.predicted) + bytes_of(evaluation.confusion) +
         bytes_of(evaluation.positions);
}

std::size_t bytes_of(const training::Distributions& distributions) {
  return std::accumulate(distributions.moments.begin(), distributions.moments.end(), std::size_t{0},
                         [](std::size_t sum, const auto& moment) { return sum + moment->bytes(); });
}

/// A place on the plane takes some bytes, the latent behind it up to 32 KiB: only places are kept.
std::shared_ptr<const LatentMap> places_of(const LatentMap& map) {
  auto places = std::make_shared<LatentMap>();
  places->step = map.step;
  places->generation = map.generation;
  places->number = map.number;
  places->precision = map.precision;
  places->latent = map.latent;
  places->count = map.count;
  places->rank = map.rank;
  places->scores = map.scores;
  places->sigmas = map.sigmas;
  places->shares = map.shares;
  return places;
}

std::uint64_t distance(std::uint64_t a, std::uint64_t b) {
  return a < b ? b - a : a - b;
}

}  // namespace

void KeptViews::forget() {
  lanes_.clear();
  held_.clear();
  pasts_.clear();
  distributions_ = nullptr;
  distribution_bytes_ = 0;
}

void KeptViews::forget_after(std::uint64_t step) {
  for (auto& [key, lane] : lanes_) lane.history.forget_after(step);
  std::erase_if(lanes_, [](const auto& lane) { return lane.second.history.entries().empty(); });
  held_.clear();
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

void KeptViews::note(const training::Snapshot& snapshot, const training::Observations& seen) {
  if (!begin(snapshot)) return;
  ++notes_;
  if (snapshot.data != data_) {  // a view of a run has other images with each of its evaluations
    data_ = snapshot.data;
    lanes_.erase(Key{Kind::predictions, 0});
    held_.erase(Kind::predictions);
  }
  if (snapshot.settings->keep_history_mib > 0) {
    if (seen.network == network_) note_seen(seen);
    if (const auto& evaluation = snapshot.evaluation) {
      const Key key{Kind::predictions, 0};
      if (!has(key, evaluation->step, evaluation.get()))
        add(key, evaluation->step, bytes_of(*evaluation), evaluation);
    }
    note_times(snapshot);
  }
  fit(static_cast<std::size_t>(snapshot.settings->keep_history_mib) << 20);
}

void KeptViews::note_seen(const training::Observations& seen) {
  const auto keep = [this]<class T>(Key key, const std::shared_ptr<const T>& one) {
    if (one && one->generation == generation_ && !has(key, one->step, one.get()))
      add(key, one->step, bytes_of(*one), one);
  };
  keep({Kind::activations, seen.inspection ? seen.inspection->image : 0}, seen.inspection);
  keep({Kind::answers, seen.activations ? static_cast<std::int64_t>(seen.activations->output) : 0},
       seen.activations);
  keep({Kind::texts, 0}, seen.held_out_texts);
  if (seen.latents && seen.latents->generation == generation_ && seen.latents->problem.empty()) {
    const Key key{Kind::latents, 0};
    if (!has(key, seen.latents->step, nullptr))
      add(key, seen.latents->step, bytes_of(*seen.latents), places_of(*seen.latents));
  }
  if (seen.distributions && seen.distributions != distributions_) {
    distributions_ = seen.distributions;
    distribution_bytes_ = bytes_of(*distributions_);
  }
}

/// Copied only where they will stay: snapshots come thirty times a second.
void KeptViews::note_times(const training::Snapshot& snapshot) {
  if (snapshot.step_microseconds <= 0) return;
  const Key key{Kind::times, 0};
  const auto lane = lanes_.find(key);
  if (lane != lanes_.end() && !lane->second.history.wants(snapshot.step)) return;
  auto times = std::make_shared<const CallTimes>(
      CallTimes{snapshot.step, snapshot.timings, whole_step_microseconds(snapshot)});
  const std::size_t bytes = bytes_of(times->timings);
  add(key, snapshot.step, bytes, std::move(times));
}

/// `kept` nullptr: anything of that step.
bool KeptViews::has(Key key, std::uint64_t step, const void* kept) const {
  const auto lane = lanes_.find(key);
  if (lane == lanes_.end()) return false;
  const auto* const found = lane->second.history.nearest(step);
  return found->step == step && (kept == nullptr || found->kept.get() == kept);
}

void KeptViews::add(Key key, std::uint64_t step, std::size_t bytes, Kept kept) {
  Lane& lane = lanes_[key];
  lane.history.put(step, bytes, std::move(kept));
  lane.noted = notes_;
}

std::size_t KeptViews::bytes() const {
  return std::accumulate(lanes_.begin(), lanes_.end(), distribution_bytes_,
                         [](std::size_t sum, const auto& lane) { return sum + lane.second.history.bytes(); });
}

/// The kind that takes most gives: its largest lane thins out, or where none is long enough, the one that was looked at
/// longest ago goes.
void KeptViews::fit(std::size_t most) {
  while (!lanes_.empty() && bytes() > most) {
    std::map<Kind, std::size_t> sums;
    for (const auto& [key, lane] : lanes_) sums[key.first] += lane.history.bytes();
    const Kind heaviest = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
                            return a.second < b.second;
                          })->first;
    auto largest = lanes_.end(), oldest = lanes_.end();
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
      if (lane->first.first != heaviest) continue;
      if (largest == lanes_.end() || lane->second.history.bytes() > largest->second.history.bytes())
        largest = lane;
      if (oldest == lanes_.end() || lane->second.noted < oldest->second.noted) oldest = lane;
    }
    if (!largest->second.history.thin()) lanes_.erase(oldest);
  }
}

/// `newest` is what would be shown without a step; nullptr where there is nothing.
template <class T>
std::shared_ptr<const T> KeptViews::nearest(Key key, std::uint64_t wanted,
                                            const std::shared_ptr<const T>& newest) {
  Held best{key, wanted, 0, nullptr};
  const auto take = [&](std::uint64_t step, const Kept& kept) {
    const bool same = step == best.step;  // looked at anew, perhaps with other weights beside it
    if (!best.kept || same || distance(step, wanted) < distance(best.step, wanted))
      best = {key, wanted, step, kept};
  };
  const auto held = held_.find(key.first);
  if (held != held_.end() && held->second.key == key && held->second.wanted == wanted) best = held->second;
  if (const auto lane = lanes_.find(key); lane != lanes_.end()) {
    const auto* const found = lane->second.history.nearest(wanted);
    take(found->step, found->kept);
  }
  if (newest) take(newest->step, newest);
  if (best.kept) held_[key.first] = best;
  return std::static_pointer_cast<const T>(best.kept);
}

std::optional<StepView> KeptViews::at(const Cursor& cursor, const training::Snapshot& snapshot,
                                      const training::Observations& seen) {
  if (!cursor.step) {
    held_.clear();
    return std::nullopt;
  }
  const std::uint64_t wanted = *cursor.step;
  StepView view{wanted, seen, nullptr, nullptr};
  const bool same_image = seen.inspection && seen.inspection->image == cursor.image;
  const Key image{Kind::activations, cursor.image},
      layer{Kind::answers, static_cast<std::int64_t>(cursor.output)};
  if (same_image || lanes_.contains(image))
    view.seen.inspection = nearest<Inspection>(image, wanted, same_image ? seen.inspection : nullptr);
  const bool same_layer = seen.activations && seen.activations->output == cursor.output;
  if (same_layer || lanes_.contains(layer))
    view.seen.activations =
        nearest<ChannelActivations>(layer, wanted, same_layer ? seen.activations : nullptr);
  view.seen.latents = nearest<LatentMap>({Kind::latents, 0}, wanted, seen.latents);
  if (const auto& map = view.seen.latents; map && map != seen.latents && !map->values.empty()) {
    view.seen.latents = places_of(*map);  // the decoder has the newest weights by now
    held_[Kind::latents].kept = view.seen.latents;
  }
  view.seen.held_out_texts = nearest<TextAttributions>({Kind::texts, 0}, wanted, seen.held_out_texts);
  view.evaluation = nearest<Evaluation>({Kind::predictions, 0}, wanted, snapshot.evaluation);
  view.times = nearest<CallTimes>({Kind::times, 0}, wanted, nullptr);
  const bool now = view.times && (view.times->step == snapshot.step ||
                                  distance(snapshot.step, wanted) < distance(view.times->step, wanted));
  if (now) view.times = nullptr;
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

std::string step_line(std::uint64_t wanted, std::uint64_t shown) {
  const std::string step = "step " + with_thousands(shown);
  return shown == wanted ? step : fmt::format("{} (nearest kept to {})", step, with_thousands(wanted));
}

}  // namespace warpscope::ui
