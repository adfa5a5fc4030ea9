#pragma once
// What the observers of latents share: a pass over test images, and a thread that makes something of what it brought.

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "gpu/observers/latent_pass.h"

namespace warpscope::training {

/// One look at a time: start(), then take() until it gives what was made.
template <typename Made>
class LatentWork {
 public:
  using Make = std::function<Made(const LatentPass&)>;

  ~LatentWork() { forget(); }

  /// From start() until take() gave what was made.
  bool busy() const { return busy_; }
  /// Device time of the last pass.
  double seconds() const { return seconds_; }

  /// Enqueues a pass over up to `most` test images (as LatentPass has it), made anew where the selection is another
  /// one. Throws core::BadInput and core::OutOfMemory as plan::Plan does.
  void start(const Scene& scene, std::int64_t most = 0) {
    if (pass_ && pass_->selection() != scene.selection) pass_.reset();
    if (!pass_) pass_ = std::make_unique<LatentPass>(scene, most);
    pass_->start(scene);
    busy_ = true;
  }

  /// What `make` made of the pass, on a thread of its own, once it is there. What `make` captures outlives forget().
  std::optional<Made> take(const Make& make) {
    if (!busy_ || !pass_->ready()) return std::nullopt;
    if (!making_.valid()) {
      seconds_ = pass_->seconds();
      making_ = std::async(std::launch::async, [this, make] { return make(*pass_); });
    }
    if (making_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    busy_ = false;
    return making_.get();
  }

  /// Waits for the thread, which reads what the pass brought, and drops both.
  void forget() {
    if (making_.valid()) making_.wait();
    making_ = {};
    pass_.reset();
    busy_ = false;
  }

 private:
  bool busy_ = false;
  std::unique_ptr<LatentPass> pass_;
  std::future<Made> making_;
  double seconds_ = 0;
};

}  // namespace warpscope::training
