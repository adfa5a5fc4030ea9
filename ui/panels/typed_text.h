#pragma once
// A text that a person types, with what the network makes of it at once: the classes' probabilities as bars, and the
// characters tinted by their shares.

#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/typed_field.h"

namespace warpscope::ui {

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

}  // namespace warpscope::ui
