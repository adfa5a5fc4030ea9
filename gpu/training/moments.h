#pragma once
// Moments: the training after some of its steps, as it was then, and what was changed and tested between them, so that
// the steps behind one can be made again. They are kept within a budget of bytes: the more recent the closer, those
// before a change longer than others. What memory has no room for goes to the disk, if there are MomentFiles.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/core/not_sent.h"
#include "gpu/engine/engine_state.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/snapshot.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/run_figures.h"
#include "gpu/training/moment_files.h"
#include "gpu/training/steering.h"

namespace warpscope::training {

inline constexpr std::uint64_t kNoLastStep = ~std::uint64_t{0};

struct Moment {
  std::uint64_t number = 0;  ///< among all that were kept
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  bool matters = false;               ///< before or after a change: kept longer
  bool guards = false;                ///< another process may have to go on from it
  bool only_guards = false;           ///< and nobody goes back to it: kept until there is a newer one
  std::uint64_t reach = kNoLastStep;  ///< the last step that can be made again from it
  core::NotSent<std::shared_ptr<const EngineState>> engine;  ///< nullptr if it is on the disk only
  bool leaving = false;                                      ///< it is on its way there
  int head_classes = 0;                                      ///< of the network's head, then
  std::uint64_t regroupings = 0;                             ///< of ranks, before it
  bool other_kernels = false;  ///< this process does not run all that made the steps behind it
  core::NotSent<std::shared_ptr<const std::vector<float>>> first_weights;
  std::shared_ptr<const TrainingSettings> settings;
  plan::Selection selection;
  Steering steering;
  Progress progress;
  FigureTally::Mark tally;
  std::size_t changes = 0, evaluations = 0;  ///< that had been noted by then

  /// The size of the state; 0 if it is not in memory.
  std::size_t bytes() const;
};

/// From `step` on, steps are made with these.
struct NotedChange {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  std::shared_ptr<const TrainingSettings> settings;
  plan::Selection selection;
  bool begins = false;        ///< nobody changed anything: the generation begins with these
  std::uint64_t command = 0;  ///< the number of the command that made it; 0: it has none
};

struct NotedEvaluation {
  std::uint64_t generation = 0;
  std::size_t changes = 0;  ///< that had been noted by then
  Evaluation evaluation;    ///< its figures, without what it tells of each image
  Point point;
  bool best = false;  ///< a checkpoint was written as the best one
};

/// A generation of this training's past.
struct Past {
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> from;  ///< the generation that it goes on from, after
  std::uint64_t step = 0;
  bool open = false;                         ///< steps that are made again in `from` lead to where it begins
  std::size_t changes = 0, evaluations = 0;  ///< that had been noted by then
  std::uint64_t reach = kNoLastStep;         ///< the last step that can be made again from its beginning
  std::size_t taken = 0;                     ///< of these changes, as many as it goes on with
};

/// What steps that are made again from a moment follow.
struct MomentNotes {
  std::vector<Past> pasts;            ///< the newest last
  std::vector<std::uint64_t> breaks;  ///< steps of break_off()
  std::vector<NotedChange> changes;
  std::vector<NotedEvaluation> evaluations;
};

/// What leads another process back to this training's past.
struct HandedMoments {
  std::string folder;             ///< of their files: who wrote the first of them removes it
  std::uint64_t next_number = 0;  ///< Moment::number of the next one
  std::vector<Moment> kept;       ///< each has a file
  std::map<std::uint64_t, MomentFiles::File> files;
  MomentNotes notes;
};

/// For thinned_out().
struct MomentPlace {
  std::uint64_t step = 0;
  bool matters = false;
};

/// Which of these, in the order of their steps, goes first where there are too many: the one whose neighbours are the
/// closest to each other, measured by a quarter of the newest step and their own; one that matters counts as if they
/// were eight times as far apart. The first and the last go only if there is no other. There is one at least.
std::size_t thinned_out(std::span<const MomentPlace> places);

class Moments {
 public:
  /// Bytes of the engine's states in memory. 0: none are kept.
  explicit Moments(std::size_t budget) : budget_(budget) {}
  /// Where those go that memory has no room for; without, they are dropped.
  void use(std::unique_ptr<MomentFiles> files) { files_ = std::move(files); }
  bool has_files() const { return files_ != nullptr; }
  /// Whether they stay once this process has ended.
  bool files_stay() const { return files_ && files_->stays(); }

  bool wanted() const { return budget_ > 0; }
  std::size_t budget() const { return budget_; }
  /// None can be had, or they are of no use any more. What was noted is dropped too.
  void clear();
  /// None are kept from now on.
  void give_up();
  /// The same, but their files stay as long as this does, and those in memory are written, within the budget of the
  /// disk, until `stopped` says that nobody needs them. Returns those from which the training leads to `last`. `error`
  /// becomes why the disk takes no more, if it does not.
  HandedMoments hand_over(const Moment& last, const std::function<bool()>& stopped, std::string& error);
  /// Those of a process that has handed its training over, whose network has these first weights, and its past. There
  /// are MomentFiles, and no moments yet. Returns which are lost, in a sentence to be told; "" if none is.
  std::string take_on(const HandedMoments& handed,
                      const std::shared_ptr<const std::vector<float>>& first_weights);

  /// Another generation goes on from the points of `from` up to `step`, if there is one.
  void begin(std::uint64_t generation);
  void begin(std::uint64_t generation, std::uint64_t from, std::uint64_t step, bool open = false);
  /// The same, with the first `taken` of the changes that were noted.
  void begin(std::uint64_t generation, std::uint64_t from, std::uint64_t step, bool open, std::size_t taken);
  /// Whether steps that are made again lead to a training that was after `step` steps of `generation`: with the first
  /// `changes` of those noted, and knowing of evaluations up to that of step `last_evaluation`.
  bool leads_to(std::uint64_t generation, std::uint64_t step, std::size_t changes,
                std::uint64_t last_evaluation) const;
  /// What follows `step` cannot be made again from what was before: other weights, another network.
  void break_off(std::uint64_t step);

  /// Whether a moment after so many steps, of so many bytes, would be a useful one: not much closer to the one before
  /// than those that the budget has room for.
  bool due(std::uint64_t step, std::size_t bytes) const;
  /// A moment whose state is still to come, as are losses of steps that are under way. There is no other such.
  void expect(Moment moment);
  bool expects() const { return coming_.has_value(); }
  /// Neither the one that is expected nor the newest one is to be trusted.
  void drop_expected() {
    coming_.reset();
    newest_.reset();
  }
  void matters() {
    coming_->matters = true;
    coming_->only_guards = false;
  }
  /// The one after so many steps matters now; false if there is none.
  bool keep_longer(std::uint64_t step);
  /// The point of `step` comes; these do not have it yet.
  void before_point(std::uint64_t step, const Steering& steering, const Progress& progress,
                    const FigureTally& tally);
  /// The state of the one that is expected. It is kept once its losses are known too.
  void arrive(EngineState state);

  void note_change(std::uint64_t step, std::shared_ptr<const TrainingSettings> settings,
                   const plan::Selection& selection, bool begins = false, std::uint64_t command = 0);
  void note_evaluation(const Evaluation& evaluation, const Point& point);
  /// The newest evaluation was the best so far.
  void note_best() {
    if (wanted() && !evaluations_.empty()) evaluations_.back().best = true;
  }
  const std::vector<NotedChange>& changes() const { return changes_; }
  const std::vector<NotedEvaluation>& evaluations() const { return evaluations_; }
  /// For another training that makes steps of this one again.
  MomentNotes notes() const { return {pasts_, breaks_, changes_, evaluations_}; }
  /// This training's past is that one; no moment of it is kept here.
  void take_over(MomentNotes notes);

  /// The newest one of this training's past from which `step` can be reached; nullptr if there is none. Where
  /// several are after the same step of one generation, it is the one before what was changed there.
  const Moment* find(std::uint64_t step) const { return find(step, std::nullopt); }
  /// The same, from before the change of that place in changes().
  const Moment* find_before(std::size_t change) const { return find(changes_[change].step, change); }
  /// The first of the changes that the command of that number made in this training's past; nothing if it made none.
  std::optional<std::size_t> change_by(std::uint64_t command) const;
  /// The generation that begins where so many steps of `generation` have been made again, on the way to step `to`;
  /// nullptr if none does.
  const Past* branch_at(std::uint64_t generation, std::uint64_t steps, std::uint64_t to) const;
  /// The last one that guards, if this training has gone on from it without a break; nullptr if there is none.
  const Moment* newest() const;
  /// The first one of this training's past after `step` steps or more; nullptr if there is none.
  const Moment* next(std::uint64_t step) const;
  /// For Snapshot::moments; nullptr if it has not changed since the last call.
  std::shared_ptr<const std::vector<std::uint64_t>> take_list();
  /// For Snapshot::changes, likewise.
  std::shared_ptr<const std::vector<ChangeMade>> take_changes();
  /// The size of those in memory.
  std::size_t bytes() const;
  /// What the disk has taken is dropped from memory. Returns why it takes no more, in a sentence to be told; else "".
  std::string settle_files();
  /// The state of one that is kept, from the disk if it is there. Throws as MomentFiles::read().
  std::shared_ptr<const EngineState> state_of(const Moment& moment) const;
  /// One that cannot be read is kept no more.
  void lose(std::uint64_t number);
  /// These, or the same that moments have already.
  std::shared_ptr<const std::vector<float>> shared(std::vector<float> first_weights) const;

 private:
  /// What of this training's past is a generation's: the steps behind its beginning up to `end`.
  struct Stretch {
    const Past* past = nullptr;
    std::uint64_t end = kNoLastStep;
  };
  std::vector<Stretch> stretches() const;
  const Moment* find(std::uint64_t step, std::optional<std::size_t> before) const;
  bool comes_before(const Moment& moment, std::size_t change) const;
  bool is_past_change(std::size_t place) const;
  std::optional<std::uint64_t> limit_of(std::uint64_t generation) const;
  bool is_past(const Moment& moment) const;
  Moment* with_number(std::uint64_t number);
  template <class MayGo>
  std::optional<std::size_t> first_to_go(MayGo may_go) const;
  void erase(std::size_t place);
  template <class Stays>
  void erase_others(Stays stays);
  void keep_if_whole();
  void thin();
  void thin_memory();
  void write_all();
  void drop_old_notes();

  std::size_t budget_;
  std::uint64_t next_number_ = 0;
  std::unique_ptr<MomentFiles> files_;  ///< nullptr: none go to the disk
  std::vector<Moment> kept_;            ///< in the order in which they were taken
  std::optional<Moment> coming_;
  bool coming_noted_ = false;
  std::optional<Moment> newest_;       ///< that guards, in memory
  std::vector<Past> pasts_;            ///< the newest last
  std::vector<std::uint64_t> breaks_;  ///< steps of break_off()
  std::vector<NotedChange> changes_;
  std::vector<NotedEvaluation> evaluations_;
  bool list_changed_ = true;
  bool changes_changed_ = true;  ///< those of take_changes()
};

}  // namespace warpscope::training
