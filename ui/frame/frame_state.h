#pragma once
// The state of jobs on other threads, as the window reads it within a frame.

#include <memory>
#include <utility>
#include <vector>

namespace warpscope::ui {

/// The newest state that was taken. A panel may start a job while it holds a reference into the state that it draws, so
/// states that are replaced within a frame live until the next one begins.
template <typename State>
class FrameState {
 public:
  explicit FrameState(std::shared_ptr<const State> first) : newest_(std::move(first)) {}

  /// Once a frame, before anybody holds a reference: lets go of what was replaced in the frame before.
  void begin_frame() { replaced_.clear(); }
  /// False if it is the state there was.
  bool take(std::shared_ptr<const State> newest) {
    if (newest == newest_) return false;
    replaced_.push_back(std::exchange(newest_, std::move(newest)));
    return true;
  }
  bool is(const std::shared_ptr<const State>& other) const { return newest_ == other; }

  const State& operator*() const { return *newest_; }
  const State* operator->() const { return newest_.get(); }

 private:
  std::shared_ptr<const State> newest_;
  std::vector<std::shared_ptr<const State>> replaced_;
};

}  // namespace warpscope::ui
