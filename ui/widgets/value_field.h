#pragma once
// A row in which a person chooses a number: its name, a box to type into and a slider.

#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/widgets/value_scale.h"

namespace warpscope::ui {

struct ValueSpec {
  std::string name;   ///< "training.momentum": the box; the slider is "training.momentum_slider"
  std::string label;  ///< "momentum"
  std::string tip;
  ValueLimits limits;
  std::optional<ValueScale> scale;  ///< of the slider; none: there is no slider
  std::string zero_text;            ///< shown for 0 ("off"); "" for a 0
  std::string
      unit;  ///< "epochs", after the slider where there is room, or after the box if there is no slider
};

/// What a person did with a field in this frame.
struct ValueEdit {
  bool changed = false;  ///< `value` is another one, perhaps only while the slider is held
  /// The slider was let go, Enter pressed, or the box left with another text: `value` is meant.
  bool finished = false;
  double value = 0;
  std::string refusal;  ///< why what was typed is not taken
};

/// Why what was typed last into one of several fields is not taken.
struct Refusal {
  std::string field;  ///< ValueSpec::name
  std::string text;   ///< "" for none
};

/// `refusal` after an edit of the field `name`: a value that is taken ends it.
void take_refusal(const std::string& name, const ValueEdit& edit, Refusal& refusal);
/// In what is left of the row: the refusal, small and cut where it does not fit, traced as "<field>_refusal".
void draw_refusal(const Frame& frame, const Refusal& refusal);

/// One such row. It shows `current` until it is touched. Escape gives up what was typed.
class ValueField {
 public:
  /// Draws the label, the box at `left` (pixels from the window's left edge) and the slider in what room is
  /// left. Ctrl-click on the slider types into the box. A `refusal` of this field stands in place of the unit, and of
  /// the slider where both have no room, until somebody types again or a field takes a value.
  ValueEdit draw(const Frame& frame, const ValueSpec& spec, double current, float left,
                 Refusal* refusal = nullptr);
  /// The box alone, `width` pixels wide.
  ValueEdit draw_box(const Frame& frame, const ValueSpec& spec, double current, float width);
  /// The box holds a text that was typed and is not taken yet.
  bool typed() const { return typed_; }

 private:
  void draw_slider(const Frame& frame, const ValueSpec& spec, double current, float beside, ValueEdit& edit);

  std::string text_, first_;  ///< as it is, and as it was when somebody began to type
  bool typing_ = false;
  int frame_ = 0;  ///< Dear ImGui's, in which it was drawn last
  bool typed_ = false;
  bool asked_to_type_ = false;  ///< by a Ctrl-click that still holds the slider
  bool wants_keys_ = false;     ///< the box takes the keyboard in the next frame
  bool dragging_ = false;
  double dragged_ = 0;
};

/// Pixels from a panel's left edge at which the boxes of value rows stand, and how wide these are.
float value_left(const Frame& frame);
float value_width(const Frame& frame);
/// Width in pixels of a drop-down in that place with `beside` pixels of buttons behind it: 120 design pixels,
/// or a little less where that makes room for them.
float choice_width(const Frame& frame, float beside);
/// Goes on in the same row where `width` pixels are left in it, else in the next one, below the boxes.
void same_line_if_fits(const Frame& frame, float width);

}  // namespace warpscope::ui
