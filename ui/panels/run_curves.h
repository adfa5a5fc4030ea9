#pragma once
// The curves of an earlier run, made of its folder as it grows. Reads files: not for the GUI's thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "gpu/runs/run_reader.h"
#include "ui/panels/loss_history.h"
#include "ui/plot/curve.h"
#include "ui/plot/smoothing.h"

namespace warpscope::ui {

/// Of one metric.
struct RunCurves {
  plot::Series train;  ///< averaged as the choice says
  plot::Series test;
  plot::Series validation;
  double end = 0;  ///< x of the last step

  /// Adds the points of `more` behind these.
  void append(const RunCurves& more);
};

/// Points that were read since the last call.
struct NewPoints {
  bool replace = false;           ///< `curves` hold all points and take the place of what was read before
  std::vector<RunCurves> curves;  ///< of each choice
};

class RunCurveReader {
 public:
  /// Throws core::BadInput if `folder` holds no run.
  explicit RunCurveReader(std::filesystem::path folder) : follower_(std::move(folder)) {}

  /// The next advance() gives everything, as `choices` say. To be called before the first one.
  void choose(std::span<const CurveChoice> choices);
  /// Reads about `most_bytes` more of the run. Gives what is new, or everything if the run has begun again;
  /// nothing if there is nothing new.
  std::optional<NewPoints> advance(std::uint64_t most_bytes);
  /// True if there was more to read.
  bool more() const { return more_; }
  const runs::Run& run() const { return follower_.run(); }

 private:
  struct Chosen {
    CurveChoice choice;
    plot::Smoother smoother{0};
  };

  void add_steps(Chosen& chosen, RunCurves& curves) const;
  void add_tests(const Chosen& chosen, RunCurves& curves) const;

  runs::RunFollower follower_;
  std::vector<Chosen> chosen_;
  bool anew_ = true;
  std::size_t steps_done_ = 0, tests_done_ = 0;
  bool more_ = false;
};

}  // namespace warpscope::ui
