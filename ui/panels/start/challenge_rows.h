#pragma once
// Challenges for the first ten minutes, within the live training: what they begin with, and whether their goal is
// reached. A row each. No drawing here.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/commands.h"
#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

class Challenge;

struct ChallengeRow {
  const char* id;
  const char* title;
  const char* goal;   ///< a sentence: what is to be reached, and where
  const char* panel;  ///< the one that helps
  /// Why it cannot begin; "" if it can.
  std::string (*why_not)(const training::Snapshot& snapshot);
  /// What makes the training the one of the challenge.
  std::vector<training::Command> (*begin)(const training::Snapshot& snapshot);
  /// Looks at a newer snapshot; what it returns is to be sent.
  std::vector<training::Command> (*follow)(Challenge& challenge, const training::Snapshot& snapshot);
};

std::span<const ChallengeRow> challenges();

/// The mean of the last losses, of which snapshots show some.
class RecentLoss {
 public:
  void take(const training::Snapshot& snapshot);
  /// Losses up to the last step that was shown do not count any more.
  void forget() { begun_ = false; }
  /// Nothing before twenty steps of this generation.
  std::optional<double> mean() const;

 private:
  std::uint64_t generation_ = 0, first_ = 0, step_ = 0;
  double mean_ = 0;
  bool begun_ = false;
};

/// One that is under way.
class Challenge {
 public:
  /// `now`: the training before the commands of the row are carried out.
  Challenge(const ChallengeRow& row, const training::Snapshot& now);

  const ChallengeRow& row() const { return *row_; }
  /// Looks at a newer snapshot; what it returns is to be sent.
  std::vector<training::Command> follow(const training::Snapshot& snapshot);
  bool done() const { return done_; }
  /// "3.4 times as fast, of 10"
  const std::string& told() const { return told_; }
  /// "Make this 10 times faster: 3.4 times as fast, of 10"
  std::string line() const;
  double part() const { return part_; }  ///< of the way, 0 to 1

  // For the rows:
  void tell(std::string text, double part) {
    told_ = std::move(text);
    part_ = part;
  }
  void finish(std::string text) {
    tell(std::move(text), 1);
    done_ = true;
  }
  const RecentLoss& loss() const { return loss_; }
  void forget_loss() { loss_.forget(); }

  /// What the rows remember.
  std::uint64_t generation = 0;  ///< at the beginning
  std::uint64_t divergence = 0;  ///< Divergence::id then
  std::optional<double> first_loss = {};
  std::optional<double> first_speed = {};  ///< images/s
  std::optional<double> baseline = {};     ///< what is to be beaten
  std::uint64_t baseline_generation = 0;

 private:
  const ChallengeRow* row_;
  RecentLoss loss_;
  std::string told_;
  double part_ = 0;
  bool done_ = false;
};

}  // namespace warpscope::ui
