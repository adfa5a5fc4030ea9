#include "ui/panels/workbench.h"

#include <array>

#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::array<const char*, 8> kTabs{"Kernels", "Time",        "Network", "Bench",
                                           "Verify",  "Determinism", "Ladder",  "Runs"};

// At the right end of the title row; the cursor then stands where it was.
bool size_button(const Frame& frame, bool large) {
  const float before = ImGui::GetCursorPosX();
  align_right(frame, ImGui::GetFrameHeight());
  const bool clicked =
      icon_button(frame, "tabs.large", large ? Icon::shrink : Icon::enlarge,
                  large ? "Back to the other panels (L)" : "Larger: over the other panels (L)");
  ImGui::SameLine(0, 0);
  ImGui::SetCursorPosX(before);
  return clicked;
}

}  // namespace

std::span<const char* const> Workbench::tabs() {
  return kTabs;
}

void Workbench::draw(const Frame& frame, RunOverlay& overlay) {
  controller_.update(frame);
  begin_tabbed_panel(frame, "tabs", kTabs, &tab_);
  if (size_button(frame, large_)) toggle_large();
  overlay.want_list(tab_ == kRuns);
  time_.watch(frame);
  switch (tab_) {
    case kTime:
      time_.draw(frame);
      break;
    case kNetwork:
      network_.draw(frame);
      break;
    case kBench:
      bench_.draw(frame, controller_);
      break;
    case kVerify:
      verify_.draw(frame, controller_);
      break;
    case kDeterminism:
      determinism_.draw(frame);
      break;
    case kLadder:
      ladder_.draw(frame, controller_);
      break;
    case kRuns:
      runs_.draw(frame, overlay);
      break;
    default:
      kernels_.draw(frame, controller_.state());
      break;
  }
  end_panel();
}

}  // namespace warpscope::ui
