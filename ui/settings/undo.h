#pragma once
// What was changed in this window, so that it can be taken back: settings of the training and of the view, and what
// ended a training that somebody may want back: a reset, another network, divergence. No drawing here.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/settings/changes.h"

namespace warpscope::ui {

class Undo {
 public:
  static constexpr std::size_t kMost = 100;  ///< changes that are kept

  /// What `command` changes once the trainer has taken all that was sent before; nothing if it sets nothing new.
  std::optional<Change> change_by(const training::Command& command, const training::Snapshot& snapshot) const;
  /// A command goes to the trainer. If it sets something or ends a training, that can be undone from now on and nothing
  /// can be redone. `own`: it is itself an undo or redo, which changes neither. Returns the number that it is to be
  /// sent with.
  std::uint64_t sent(const training::Command& command, const training::Snapshot& snapshot, bool own = false);
  /// Looks at what became of it. A command that was refused leaves nothing to undo; nor does a training that is not
  /// kept any more. Divergence can be undone, and so can a version of a kernel that was applied as it was proved.
  void settle(const training::Snapshot& snapshot);
  /// Once a frame: the view as it is. The first call is the start. Changes of one `gesture` (a number for each
  /// press of the mouse; 0: none) are one.
  void see(const ViewChoices& view, std::uint64_t gesture);
  /// The view has changed without anybody's doing: nothing of that can be undone.
  void start_from(const ViewChoices& view) { view_ = view; }

  /// What undo() would send now, before it is called; nothing of the view. A change that shapes the weights goes back
  /// with them, to before it, where steps were made since and moments are kept; `only_setting`: the weights stay.
  std::optional<training::Command> command_to_undo(const training::Snapshot& snapshot,
                                                   bool only_setting = false) const;
  /// The same of redo(): back to where the training was.
  std::optional<training::Command> command_to_redo(const training::Snapshot& snapshot) const;
  /// Whether undo() would go back with the weights.
  bool takes_weights_back(const training::Snapshot& snapshot) const;
  /// What became of an undo that goes back to an earlier step.
  enum class Return : std::uint8_t { there, refused, stopped };
  /// True while there is one that has not become anything.
  bool on_the_way() const { return way_ && way_->own; }
  std::optional<Return> take_return() { return std::exchange(return_, {}); }
  /// What undo() and redo() would take back or make again; nullptr if there is nothing.
  const Change* undoable() const { return done_.empty() ? nullptr : &done_.back().change; }
  const Change* redoable() const { return undone_.empty() ? nullptr : &undone_.back().change; }
  /// Takes the last change back, only in the history: the caller brings `after` of what is returned into effect.
  std::optional<Change> undo();
  std::optional<Change> redo();

  /// What trains, the variants and the settings once the trainer has taken all that was sent.
  TrainingInUse coming_training(const training::Snapshot& snapshot) const;
  plan::Selection coming_selection(const training::Snapshot& snapshot) const;
  training::TrainingSettings coming_settings(const training::Snapshot& snapshot) const;

 private:
  // Trainings before and after an undo that went back with the weights.
  struct Branch {
    std::uint64_t left = 0, begun = 0;
  };
  struct Entry {
    Change change;
    std::uint64_t id = 0;
    std::uint64_t gesture = 0;
    std::uint64_t command = 0;          // the number of the one that set it last
    std::optional<Branch> branch = {};  // of a change of settings or variants
  };
  struct Sent {
    Change change;
    std::uint64_t id = 0;  // of its entry
    std::uint64_t number = 0;
    bool own = false;     // an undo or redo
    bool begins = false;  // a training that it has numbered
  };
  // A way back to an earlier step, until the training is there.
  struct Way {
    std::uint64_t id = 0;  // of its entry
    std::uint64_t number = 0;
    std::uint64_t training = 0;
    bool own = false;
  };

  template <class Kind>
  Kind coming(const training::Snapshot& snapshot) const;
  void push(Change change, std::uint64_t gesture);
  std::optional<TrainingInUse> known_training(std::uint64_t number) const;
  std::optional<Change> training_change(const training::Command& command,
                                        const training::Snapshot& snapshot) const;
  KernelInUse coming_kernel(const std::string& file, const training::Snapshot& snapshot) const;
  void note_divergence(const training::Snapshot& snapshot);
  void note_applied(const training::Snapshot& snapshot, bool chosen);
  void forget_kernels(const training::Snapshot& snapshot);
  void note_left(const training::Snapshot& snapshot);
  void note_way_back(const training::Snapshot& snapshot);
  Entry* find_entry(std::uint64_t id);
  void note_own(const std::optional<Change>& change);
  void forget(std::uint64_t id);
  void take_out(const Sent& refused);
  void put_back(std::uint64_t id);
  void begin_no_training(std::uint64_t number);

  std::deque<Entry> done_;
  std::vector<Entry> undone_;
  std::deque<Sent> sent_;  // and not answered yet
  std::optional<ViewChoices> view_;
  std::optional<Way> way_;
  std::optional<Return> return_;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t moved_ = 0;                               // the entry that was undone or redone last
  std::uint64_t divergence_ = 0;                          // the last one that was seen
  std::shared_ptr<const training::UserKernels> kernels_;  // those seen last
};

}  // namespace warpscope::ui
