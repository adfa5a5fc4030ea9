#pragma once
// Where the window gets a network of one moment to work on: the weights of the training, or the newest checkpoint of a
// run that is viewed.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "gpu/features/subject.h"
#include "ui/frame/frame.h"

namespace warpscope::ui {

class SubjectSource {
 public:
  /// `viewed`: the folder of the run that a window without a training of its own shows.
  explicit SubjectSource(models::Model model, std::filesystem::path viewed = {})
      : model_(std::move(model)), viewed_(std::move(viewed)) {}

  /// The network that is trained from now on.
  void follow(const models::Model& model) { model_ = model; }
  const models::Model& model() const { return model_; }
  /// Why there is none, in a sentence; "" if there is.
  std::string why_not(const Frame& frame) const;
  /// The number of this moment, which subject() is asked with.
  std::uint64_t now() { return ++asked_; }
  /// The network of that moment or of one soon after it; nothing while the training has not sent it. To be asked every
  /// frame until it is there: `frame.request` is what makes the training send it.
  std::optional<features::Subject> subject(const Frame& frame, std::uint64_t number) const;

 private:
  models::Model model_;
  std::filesystem::path viewed_;
  std::uint64_t asked_ = 0;  ///< number of the last moment
};

}  // namespace warpscope::ui
