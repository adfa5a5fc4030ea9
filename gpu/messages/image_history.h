#pragma once
// How the pictures came about: the shown batch at steps that lie evenly on a logarithm, in host memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/messages/image_exchange.h"
#include "gpu/messages/step_history.h"

namespace warpscope::training {

/// The trainer adds, the window reads; neither waits for more than a copy. Values are kept in 16 bits (IEEE
/// binary16: an error of at most 0.0005 in [0, 1]), their mean squared errors as they were.
class ImageHistory {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  explicit ImageHistory(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  /// True if pictures made after `step` steps are to be added: of the first steps each, later the first ones
  /// past the next place on the logarithm.
  bool wants(std::uint64_t step) const;
  /// Adds them. If the memory is used up, places become half as dense and what lies between is dropped; the
  /// first and the last stay. Pictures of another generation or shape begin anew.
  void add(const ShownImages& images);

  /// The training goes on as `generation` from where `from` was after `step` steps: pictures up to there stay.
  void go_on(std::uint64_t from, std::uint64_t generation, std::uint64_t step);

  /// The steps that are there, ascending.
  std::vector<std::uint64_t> steps() const;
  /// The pictures of the nearest of these steps. nullptr if there is nothing. For the moments asked for last it is the
  /// same object as long as the pictures are the same.
  std::shared_ptr<const ShownImages> at(std::uint64_t step) const;
  /// The mean squared error of each image at each of the steps.
  struct Errors {
    std::uint64_t step = 0;
    std::vector<float> images;
  };
  std::vector<Errors> errors() const;
  /// Grows with each change.
  std::uint64_t version() const;

 private:
  struct Moment {
    std::uint64_t number = 0;  ///< of each another
    std::shared_ptr<const std::vector<std::uint16_t>> values;
    std::vector<float> errors;
  };
  /// Pictures that somebody has asked for.
  struct Widened {
    std::uint64_t number = 0;
    std::shared_ptr<const ShownImages> images;
  };
  static constexpr double kFirstRatio = 1.05;
  static constexpr std::size_t kWidened = 2;  ///< those of an earlier step and of the one below the slider

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  ///< of everything below
  ImageShape shape_;
  std::uint64_t generation_ = 0;
  std::vector<float> original_;
  StepHistory<Moment> moments_{kFirstRatio};
  mutable std::vector<Widened> widened_;  ///< asked for last, the newest at the end
  std::uint64_t version_ = 0;
};

}  // namespace warpscope::training
