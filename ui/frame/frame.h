#pragma once
// What every panel gets each frame. Panels read snapshots and send commands; they never touch the trainer
// otherwise.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <imgui.h>

#include "gpu/messages/image_history.h"
#include "gpu/messages/observations.h"
#include "gpu/messages/snapshot.h"
#include "gpu/training/trainer.h"

namespace warpscope::ui::paint {
class TextureStore;
}
namespace warpscope::jobs {
class Jobs;
}

namespace warpscope::ui {

struct Cursor;
struct StepView;

/// Fonts, loaded at the window's scale. Sizes are those of a line, where text has its usual size. Digits of `numbers`
/// all have one width.
struct Fonts {
  ImFont* text = nullptr;     ///< Inter, 16 px at scale 1
  ImFont* small = nullptr;    ///< Inter, 13 px: units, captions, axis labels
  ImFont* strong = nullptr;   ///< Inter SemiBold, 16 px: panel titles
  ImFont* large = nullptr;    ///< Inter SemiBold, 32 px: a figure by itself, of digits, signs and "%"
  ImFont* numbers = nullptr;  ///< JetBrains Mono, 16 px
};

/// The colours of a theme. Everything that is drawn takes its colours from here, but for pictures.
struct Palette {
  ImU32 background;                              ///< behind the panels
  ImU32 panel;                                   ///< background of a panel
  ImU32 popup;                                   ///< background of menus and tool-tips
  ImU32 control, control_hovered, control_held;  ///< buttons and fields
  ImU32 border;                                  ///< around menus
  ImU32 grid;                                    ///< grid lines and hairlines
  ImU32 text;
  ImU32 muted;   ///< units, captions, disabled
  ImU32 accent;  ///< the one accent colour: the selected, the active
  ImU32 good;
  ImU32 warning;
  ImU32 error;
  ImU32 series[8];        ///< data series
  ImU32 more_classes[2];  ///< the ninth and tenth class; the first eight are those of data series
};

/// One frame.
struct Frame {
  const training::Snapshot& snapshot;
  const std::function<void(training::Command)>& send;
  const Fonts& fonts;
  const Palette& palette;
  float scale = 1.0f;                       ///< pixels of this window per design pixel; the grid is 8 * scale
  paint::TextureStore* textures = nullptr;  ///< where textures go while the CPU paints; nullptr: to OpenGL
  double* next_change = nullptr;            ///< see redraw_at()
  Cursor* cursor = nullptr;                 ///< nullptr where there is nothing to point at: files of plots
  training::Observations seen = {};         ///< Source::observations()
  std::shared_ptr<const training::ImageHistory> history = {};  ///< Source::history()
  /// What the panels that are drawn want to see from now on; nullptr where nothing can be seen: Snapshot::can.
  training::ObservationRequest* request = nullptr;
  jobs::Jobs* jobs = nullptr;  ///< Source::jobs()
  /// What there is of the step that the cursor is at; `seen` is already of it. nullptr: everything is the newest.
  const StepView* past = nullptr;
  const char* panel = "";  ///< PanelRow::id of the one that is drawn
  std::string_view step_line =
      {};  ///< "step 1,024", which this panel shows: stands over its body; "" for none
  std::string_view step_rewind =
      {};  ///< "rewind the training (0.3 s)": a button behind it, to the wanted step; "" for none
  std::string_view step_aside =
      {};  ///< "compute it aside (0.3 s)": a button between the two, for the wanted step; "" for none
  bool tabbed = false;  ///< this panel is a tab of several: their tabs and a button share its title row

  bool on_gpu() const { return snapshot.device.kind == core::DeviceKind::cuda; }
};

/// The window is drawn when there is something new or a person does something. What changes only with time
/// says here when it will, in ImGui's time; of several the first counts, and each frame asks anew.
inline void redraw_at(const Frame& frame, double time) {
  if (frame.next_change != nullptr && time < *frame.next_change) *frame.next_change = time;
}

}  // namespace warpscope::ui
