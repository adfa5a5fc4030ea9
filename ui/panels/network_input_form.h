#pragma once
// The fields of the whole network above those of its layers: what it takes, images of a size or texts of an alphabet,
// its loss and its classes.

#include <map>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/network_editor_rows.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

class NetworkInputForm {
 public:
  /// Draws them side by side, in more lines where there is no room. `message` becomes why something that was typed is
  /// not taken.
  void draw(const Frame& frame, NetworkDraft& draft, std::string& message);
  /// A field holds a text that was typed and is not taken yet.
  bool typed() const { return holds_text_; }

 private:
  void draw_number(const Frame& frame, NetworkDraft& draft, const NetworkField& field, std::string& message);
  void draw_alphabet(const Frame& frame, NetworkDraft& draft, std::string& message);

  std::map<std::string, ValueField> boxes_;
  std::string typed_;  ///< into the alphabet
  bool typing_ = false;
  bool holds_text_ = false;
};

}  // namespace warpscope::ui
