#pragma once
// What views have shown at earlier steps, so that they can show it again: the one owner of it in a window. All views
// ask for the step that the cursor is at and get of each kind the nearest that is kept. No drawing here.
//
//   Images                     the nearest pictures, since the start, in run folders too
//   Predictions, Confusion     the nearest evaluation and tints of texts, since the start; of a typed text the newest
//   Kernels, Time, Network     the nearest times, since the first timed step; menus wait for the newest step
//   Network's activations      the nearest of that image or layer, since its tab was in front
//   Distributions              the nearest moment, since its tab was in front
//   Latent's PCA               the nearest places, since its tab was in front
//   Memory, Features, maps, Training, comparisons with other networks   the newest
//
// Where a step is computed aside (training::LookAside), evaluation, texts, activations, distributions and PCA are its
// own. None of that is kept.
//
// A line over the view says what it shows: "step 1,024 (nearest kept to 1,100)". After a rewind pictures and
// distributions begin anew, and of the others what both lines have in common stays.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"
#include "gpu/messages/step_calls.h"
#include "gpu/messages/view_lanes.h"
#include "ui/input/cursor.h"

namespace warpscope::ui {

using training::CallTimes;

/// What there is of the step that the cursor is at: of each kind the nearest.
struct StepView {
  std::uint64_t wanted = 0;                                ///< Cursor::step
  training::Observations seen;                             ///< as the newest, where views follow no step
  std::shared_ptr<const training::Evaluation> evaluation;  ///< nullptr before the first
  std::shared_ptr<const CallTimes> times;                  ///< nullptr: those of the snapshot are the nearest
  bool computed = false;  ///< what there is of the step itself was computed aside (training::LookAside)
};

/// Keeps activations of the images that were pointed at, answers of channels, latents without their numbers, shares of
/// texts, predictions and kernel times; distributions, which have a history of their own, count as well. Beside what
/// the views have seen themselves there is what a run has recorded (training::KeptView).
class KeptViews {
 public:
  /// What the training has told, before the snapshot that follows: after Return what was up to its step stays where
  /// that was this training's own, after Restart nothing does.
  void follow(const std::vector<training::FeedItem>& items);
  /// Once for each snapshot and what was seen beside it. Another network begins anew, and what a training has gone back
  /// from is dropped. Keeps within TrainingSettings::keep_history_mib. Returns `seen`, whose distributions are also
  /// those that a run has recorded.
  training::Observations note(const training::Snapshot& snapshot, training::Observations seen);
  /// Nothing where the cursor is at no step. For one and the same step something else comes only where it is nearer.
  std::optional<StepView> at(const Cursor& cursor, const training::Snapshot& snapshot,
                             const training::Observations& seen);
  /// What everything takes.
  std::size_t bytes() const;

 private:
  using Kind = training::ViewKind;
  using Key = training::ViewKey;
  using Kept = training::KeptView::Seen;
  struct Held {
    Key key;
    std::uint64_t wanted = 0, step = 0;
    std::shared_ptr<const void> kept;
  };

  void forget();
  void forget_after(std::uint64_t step);
  void take(const training::KeptView& view);
  bool begin(const training::Snapshot& snapshot);
  void follow_data(const training::Snapshot& snapshot);
  void note_seen(const training::Observations& seen);
  void note_times(const training::Snapshot& snapshot);
  bool has(const Kept& kept) const;
  void add(const Kept& kept);
  std::shared_ptr<const training::Distributions> with_recorded(
      const std::shared_ptr<const training::Distributions>& seen);
  void take_aside(StepView& view, const Cursor& cursor, const training::AsideSeen& aside);
  template <class T>
  std::shared_ptr<const T> nearest(Key key, std::uint64_t wanted, const std::shared_ptr<const T>& newest);
  std::shared_ptr<const training::Evaluation> evaluation_at(std::uint64_t wanted,
                                                            const training::Snapshot& snapshot);

  training::ViewLanes<Kept> lanes_;
  std::map<Kind, Held>
      held_;  ///< what was given last: it stays while nothing nearer comes, even where it was thinned out
  std::uint64_t generation_ = 0, network_ = 0, step_ = 0;
  std::uint64_t untold_ = 0;  ///< snapshots of a generation of which nothing was told yet
  std::map<std::uint64_t, std::uint64_t>
      pasts_;  ///< generations, and the last step that they have in common with this
  std::shared_ptr<const training::DataView> data_;  ///< whose images the predictions are of
  std::shared_ptr<const training::Distributions> distributions_;
  std::size_t distribution_bytes_ = 0;
  std::uint64_t changes_ = 0;  ///< of the lane of distributions
  /// What an evaluation counts, where its images are not there.
  std::shared_ptr<const training::Evaluation> counted_, counts_;
  /// The two as one, and what it was made of.
  std::shared_ptr<const training::Distributions> joined_, joined_with_;
  std::uint64_t joined_changes_ = 0;
  /// Those and the moment that was computed aside, and what they were made of.
  std::shared_ptr<const training::Distributions> with_aside_, with_aside_of_, aside_;
};

/// The last evaluation, or that of the step that the cursor is at; nullptr before the first.
std::shared_ptr<const training::Evaluation> shown_evaluation(const Frame& frame);
/// What is kept of the calls at the step that the cursor is at; nullptr where they are shown as they are.
const CallTimes* past_times(const Frame& frame);
/// The calls of a step as they are, or at the step that the cursor is at.
const std::vector<training::OpTiming>& shown_timings(const Frame& frame);

// The step of what is shown of each kind; nothing where there is nothing.
std::optional<std::uint64_t> step_of_calls(const Frame& frame);
std::optional<std::uint64_t> step_of_evaluation(const Frame& frame);
std::optional<std::uint64_t> step_of_inspection(const Frame& frame);
std::optional<std::uint64_t> step_of_latents(const Frame& frame);
std::optional<std::uint64_t> step_of_distributions(const Frame& frame);

/// A network can be looked into, or what it showed at the step that the cursor is at is kept.
bool shows_activations(const Frame& frame);
/// A run that is looked at has kept activations of the image as near to that step as any of its checkpoints is.
bool has_recorded_activations(const Frame& frame);

/// The same of distributions, of any step where none is pinned. What is counted of the checkpoint that is looked
/// at is left aside: it goes when nobody asks for it.
bool has_recorded_distributions(const Frame& frame);

/// "step 1,024 (nearest kept to 1,100)"; "step 1,100" of that step itself.
std::string step_line(std::uint64_t wanted, std::uint64_t shown);

}  // namespace warpscope::ui
