#pragma once
// How long the window waits for what it has asked of the inside of a training, for the trace.

#include <array>

#include "gpu/messages/observations.h"

namespace warpscope::ui {

class AnswerTrace {
 public:
  /// Something else is asked for from now on.
  void asked(const training::ObservationRequest& request, double now);
  /// A frame was drawn with `seen`: traces "answered" with its kind and milliseconds for what it is the first to show.
  void drawn(const training::Observations& seen, double now);

 private:
  enum Kind : std::size_t { kComparison, kPictures, kInspection, kKinds };
  bool answers(Kind kind, const training::Observations& seen) const;

  training::ObservationRequest request_;
  std::array<double, kKinds> since_{};  ///< when what is still awaited was asked for; 0: nothing is
};

}  // namespace warpscope::ui
