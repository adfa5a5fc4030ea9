#pragma once
// The editor of the network: its input, loss and layers as a form, what an edit costs, and the buttons that apply,
// undo, open and save it.

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/network/network_editor_rows.h"
#include "ui/panels/network/network_layer_form.h"
#include "ui/widgets/value_field.h"

namespace warpscope::ui {

/// The fields of the whole network: what it takes, images of a size or texts of an alphabet, its loss and its classes.
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

class NetworkEditor {
 public:
  explicit NetworkEditor(const models::Model& trained) : draft_(trained) {}

  /// Fills the room that is left, or more, for a window that scrolls.
  void draw(const Frame& frame);
  /// Another network is trained from now on.
  void set_trained(const models::Model& trained) { draft_.set_trained(trained); }
  /// There is an edit to take back that is not applied. `coming`: the network that is trained once the trainer has
  /// taken all that was sent, if it is known.
  bool can_undo(const models::Model* coming) const {
    return draft_.can_undo() && (coming == nullptr ? draft_.changed() : draft_.differs_from(*coming));
  }
  bool can_redo() const { return draft_.can_redo(); }
  /// Takes the last edit back, or makes it again.
  void change_back(bool redo);
  /// In the next frame the name of a file can be typed.
  void focus_file() { focuses_file_ = true; }

 private:
  void follow_cursor(const Frame& frame);
  void lead_cursor(const Frame& frame);
  void draw_actions(const Frame& frame);
  void draw_layer_actions(const Frame& frame);
  void draw_add(const Frame& frame);
  void draw_file(const Frame& frame);
  struct Summary {
    std::string text, tip;
    ImU32 color;
  };
  Summary summary(const Frame& frame) const;
  void draw_summary(const Frame& frame) const;
  std::string misfit(const Frame& frame) const;
  static std::string why_takes_nothing(const Frame& frame);
  std::string fault_text() const;
  std::string why_no_apply(const Frame& frame) const;
  std::string why_no_save() const;
  void apply(const Frame& frame);
  void open();
  void save();
  void say(std::string message, bool refusal);
  /// The layer whose row is lit from now on.
  void go_to(std::size_t layer);
  void trace(const Frame& frame);

  NetworkDraft draft_;
  NetworkInputForm input_;
  LayerForm form_;
  std::size_t focus_ = 0;    ///< index of the layer in focus
  std::size_t pointed_ = 0;  ///< Cursor::output that `focus_` follows
  std::array<char, 1024> file_{};
  std::filesystem::path known_file_;   ///< opened or saved here: it may be replaced
  std::filesystem::path warned_file_;  ///< that is there and would be replaced by saving once more
  std::string message_;                ///< the last answer; "" for none
  bool refused_ = false;               ///< it says why something was not done
  bool answered_ = false;              ///< `message_` was said in this frame
  bool typed_ = false;  ///< a field holds a text that is not taken yet: a click on a button takes it first
  bool refused_in_press_ = false;  ///< as the button of the mouse went down
  bool focuses_file_ = false;
  std::string traced_;
};

}  // namespace warpscope::ui
