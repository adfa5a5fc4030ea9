#pragma once
// In which order a training goes through its images. Each epoch visits floor(count / batch) batches of a new
// permutation (or of the stored order, without shuffling); the images that do not fill a last batch are left
// out of that epoch.

#include <cstdint>
#include <vector>

namespace warpscope::training {

class DataOrder {
 public:
  DataOrder(std::int64_t count, std::uint64_t seed, bool shuffle);

  /// Starts again at epoch 0.
  void reset();
  /// Goes on where another order of the same count and seed was: after `epochs_done` whole epochs, at
  /// `position` of the next. How the batch changed before does not matter. A rest that cannot fill the batch
  /// ends the epoch, as in set_batch(). Throws core::BadInput if `position` is not a place in an epoch; the
  /// order then stays as it was.
  void restore(std::uint64_t epochs_done, std::uint32_t position);
  /// From the next batch on. The rest of the running epoch is cut in batches of the new size.
  void set_batch(int batch);

  /// Call before each step. True if a new epoch began and order() has changed.
  bool begin_step();
  /// Call after each step.
  void end_step();

  /// The permutation of the running epoch e: Fisher-Yates with random_bits(random_bits(seed, e), i).
  const std::vector<std::uint32_t>& order() const { return order_; }
  /// Place of the next batch's first image, and where the epoch ends.
  std::uint32_t position() const { return position_; }
  std::uint32_t epoch_size() const;
  /// Whole epochs done.
  std::uint64_t epochs_done() const { return epochs_done_; }
  /// Epochs done, with the share of the running one.
  double epoch() const;
  /// Steps left until `epochs` whole epochs are done, if the batch stays as it is; 2^63 - 1 where there are
  /// more.
  std::uint64_t steps_until(std::uint64_t epochs) const;

 private:
  void make_order();
  void end_epoch_if_short();

  std::vector<std::uint32_t> order_;
  std::uint64_t seed_;
  bool shuffle_;
  std::uint32_t batch_ = 1;
  std::uint32_t position_ = 0;
  std::uint64_t epochs_done_ = 0;
  bool fresh_ = true;  ///< the running epoch's order has not been made yet
};

}  // namespace warpscope::training
