#pragma once
// What a classifying network makes of the held-out images, in two tabs: the images with their predictions,
// and the confusion matrix. Stands where networks that reconstruct have their pictures.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/pictures/confusion_matrix.h"
#include "ui/panels/pictures/held_out.h"
#include "ui/panels/pictures/prediction_grid.h"

namespace warpscope::ui {

/// Control characters of what is pasted, line ends too, become blanks. Characters behind the first plane of Unicode,
/// which Dear ImGui's fields have no place for, become U+FFFD. Escape leaves the field, and the text as it is.
class TypedField {
 public:
  static constexpr std::size_t kMostCharacters = 20000;

  TypedField();
  /// An item `width` pixels wide, traced as `name`. `hint` stands in it while it is empty.
  void draw(const Frame& frame, const char* name, const char* hint, float width);
  void clear();

  std::string_view text() const { return buffer_.data(); }
  bool active() const { return active_; }  ///< it takes keys
  /// What of the text is not as it was typed or pasted, in sentences, else "".
  std::string lost_text(const Frame& frame) const;

 private:
  std::vector<char> buffer_;
  bool active_ = false;
  std::size_t cut_ = 0;  ///< characters of the last paste that had no room
};

/// What a field with room for so many characters takes of a pasted text; `cut` counts those that it does not.
std::string pasteable(std::string_view text, std::size_t room, std::size_t& cut);

/// A text that a person types, with what the network makes of it at once: the classes' probabilities as bars, and the
/// characters tinted by their shares.
class TypedText {
 public:
  /// As items from the cursor on, as wide as there is room. Asks the network, and goes on asking as it learns, while
  /// something stands in the field or it takes keys.
  void draw(const Frame& frame);

 private:
  void draw_field(const Frame& frame);
  void draw_characters(const Frame& frame, const training::TextAttribution* seen);
  void draw_facts(const Frame& frame, const training::TextAttribution& seen) const;
  void draw_classes(const Frame& frame, const training::TextAttribution& seen);
  void draw_class(const Frame& frame, const training::TextAttribution& seen, int index, double probability);
  void trace(const training::TextAttributions& seen);

  TypedField field_;
  std::optional<int> target_;  ///< the class that was clicked on
  std::uint64_t traced_ = 0;
};

class PredictionsPanel {
 public:
  static std::span<const char* const> tabs();
  /// Needs the OpenGL context: images are uploaded as they are seen.
  void draw(const Frame& frame);
  /// From the next frame on.
  void show_confusion() { tab_ = kConfusion; }
  /// Frees what belongs to OpenGL; called before the context goes.
  void shutdown();

  /// True once images or the matrix are on the screen.
  bool has_images() const { return follower_.shown().count() > 0; }
  /// True while a newer evaluation will be taken soon: then a frame is needed though nothing else happens.
  bool waiting() const { return follower_.waiting(); }

 private:
  enum Tab : int { kPredictions, kConfusion };

  void draw_title(const Frame& frame);

  EvaluationFollower follower_;
  std::optional<std::uint64_t> past_;  ///< the step of an evaluation that is looked back at
  PredictionGrid grid_;
  TypedText typed_;
  ConfusionMatrix matrix_;
  int tab_ = kPredictions;
};

}  // namespace warpscope::ui
