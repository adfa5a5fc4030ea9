#pragma once
// The trainings of a process as a tree: from where each goes on, and what was changed in it, so that a branch can be
// told by what was changed at its root.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace warpscope::training {

/// Trainings are those of Snapshot::training.
class TrainingTree {
 public:
  /// Where a training leaves another.
  struct Fork {
    std::uint64_t step = 0;  ///< the last one that they share
    std::string changed;     ///< right there, in the one that leaves: "batch: 64 -> 32; crop: off -> 4"
  };

  /// One that nothing leads to: from first weights.
  void begin(std::uint64_t training) { nodes_[training] = {}; }
  /// It goes on from `from` as that was after `step` steps, before what was changed there then.
  void begin(std::uint64_t training, std::uint64_t from, std::uint64_t step);
  /// The same, with what was changed there before that command.
  void begin_before(std::uint64_t training, std::uint64_t from, std::uint64_t step, std::uint64_t command);
  /// The same, with all that was changed there.
  void begin_behind(std::uint64_t training, std::uint64_t from, std::uint64_t step);
  /// `command`: the number of the command that changed it, 0 if it has none.
  void note(std::uint64_t training, std::uint64_t step, std::string change, std::uint64_t command);

  /// Where `training` leaves `other`; nothing if they have no step in common.
  std::optional<Fork> fork(std::uint64_t training, std::uint64_t other) const;
  /// What that command changed in this training or in those that it goes on from; "" if it is not known.
  std::string changed_by(std::uint64_t training, std::uint64_t command) const;

 private:
  struct Noted {
    std::uint64_t step = 0;
    std::string change;
    std::uint64_t command = 0;
  };
  /// After so many steps, with so many of what its training has noted.
  struct Place {
    std::uint64_t step = 0;
    std::size_t changes = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Node {
    std::optional<std::uint64_t> from = {};
    Place place = {};  ///< of `from`
    std::vector<Noted> changes = {};
  };
  /// A training of a line, and how far it belongs to it.
  using Part = std::pair<std::uint64_t, Place>;

  void attach(std::uint64_t training, std::uint64_t from, Place place);
  std::vector<Part> line_of(std::uint64_t training) const;
  std::string changes_at(std::uint64_t training, std::uint64_t step, std::size_t first,
                         std::size_t end) const;

  std::map<std::uint64_t, Node> nodes_;
};

}  // namespace warpscope::training
