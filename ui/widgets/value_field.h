#pragma once
// A row in which a person chooses a number: its name, a box to type into and a slider.

#include <optional>
#include <string>
#include <string_view>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// What a slider covers. Positions run from 0 (left) to 1.
struct ValueScale {
  double low = 0;
  double high = 1;
  bool logarithmic = false;  ///< equal ratios take equal room; `low` is then above 0
  bool zero = false;         ///< of a logarithmic one: its left end stands for 0
  bool integer = false;      ///< integers only
};

/// The value at a position, rounded to digits that a slider can tell apart: three of a logarithmic one, about
/// a thousandth of the range of a linear one.
double value_at(const ValueScale& scale, double position);

/// The position of a value, from 0 to 1 also for values beyond the slider's ends.
double position_of(const ValueScale& scale, double value);

/// Which numbers are valid.
struct ValueLimits {
  double least = 0;
  double most = 1;
  bool above_least = false;  ///< `least` itself is not valid
  bool below_most = false;   ///< `most` itself is not valid
  bool integer = false;
};

bool is_valid(const ValueLimits& limits, double value);

/// "a number above 0", "a whole number from 1 to 65,536", "a number from 0 to below 1". A limit of a million
/// and more goes without saying, unless `refused` is above it.
std::string range_text(const ValueLimits& limits, double refused = 0);

/// "0.005", "1e-08", "64" in four digits (integers with all of theirs); `zero_text` for 0 unless it is "".
std::string field_text(double value, bool integer, std::string_view zero_text);

struct ValueSpec {
  std::string name;   ///< "training.momentum": the box; the slider is "training.momentum_slider"
  std::string label;  ///< "momentum"
  std::string tip;
  ValueLimits limits;
  std::optional<ValueScale> scale{};  ///< of the slider; none: there is no slider
  std::string zero_text{};            ///< shown for 0 ("off"); "" for a 0
  std::string
      unit{};  ///< "epochs", after the slider where there is room, or after the box if there is no slider
};

/// What was typed into a field.
struct TypedValue {
  double value = 0;
  std::string refusal;  ///< why it is no value of the field; "" if it is one
};

/// Reads the text of a field: a finite number as C++ writes it, or `zero_text` for 0, with blanks around it. In a field
/// of whole numbers commas may part groups of three digits ("21,763"); in another one a comma is a decimal comma
/// ("0,001"); several, or one before a point, part groups ("1,234.5"). There "1,000" may mean either: it is refused.
TypedValue read_field(const ValueSpec& spec, std::string_view text);

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
/// In what is left of the row, in as many lines as it takes, or below where little is left: the refusal, small, whose
/// first line is traced as "<field>_refusal".
void draw_refusal(const Frame& frame, const Refusal& refusal);

/// One such row. It shows `current` until it is touched. Escape gives up what was typed.
class ValueField {
 public:
  /// Draws the label, the box at `left` (pixels from the window's left edge) and the slider in what room is
  /// left. Ctrl-click on the slider types into the box. A `refusal` of this field stands in place of the unit, and of
  /// the slider where both have no room, until somebody types again or a field takes a value.
  ValueEdit draw(const Frame& frame, const ValueSpec& spec, double current, float left,
                 Refusal* refusal = nullptr);
  /// Only the box, `width` pixels wide.
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
