#include "ui/panels/help_overlay.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

struct Row {
  const char* left;
  const char* right;
};

constexpr std::array kKeys{
    Row{"Space", "start or pause"},
    Row{"Right", "one step while paused"},
    Row{"R", "reset: first weights, step 0; undo (Ctrl Z) brings the training back"},
    Row{"L", "the panel clicked on last over the whole window, and back"},
    Row{"1 to 9", "what the plot under the pointer shows: loss, accuracy, gradient norm, ..."},
    Row{"E", "earlier runs, to show with the curves"},
    Row{"P  V", "save the plots as PNG, as SVG"},
    Row{"Ctrl C", "over a plot: copy what is visible as CSV"},
    Row{"Ctrl N", "start a training: data, network, weights, goal; recent trainings; and back"},
    Row{"Ctrl P", "command palette: every action, and settings by name and value"},
    Row{"Esc",
        "closes the list or menu that is open; lets a pinned step go; all images again, after some were "
        "selected"},
    Row{"Ctrl Z  Ctrl Y",
        "undo, redo: settings of the training, with the weights of then, and of the view, edits of the "
        "network; undo also brings back a training that a reset, a divergence or another network ended"},
    Row{"Ctrl Alt Z", "undo only the setting: the weights stay"},
    Row{"I", "enlarge the chosen image, and back; X shows its other version"},
    Row{"Ctrl V",
        "show pictures of your own whose paths were copied; files can be dropped on the window too: data, a "
        "run, weights or a network begin a training, a .cpp or .cu is a kernel of your own"},
    Row{"F1", "this page"},
    Row{"F12", "screenshot into a PNG file"},
    Row{"Ctrl +  Ctrl -  Ctrl 0",
        "larger, smaller, normal size; themes and sizes of text: the window's menu"},
    Row{"Ctrl Q", "quit"},
};

constexpr std::array kMouse{
    Row{"Wheel", "zoom at the pointer; over the value axis: zoom the values"},
    Row{"Point, click", "at a step of a curve: pictures of that step; a click keeps it"},
    Row{"Drag", "zoom to a range; over the value axis: of values; right button: move"},
    Row{"Right click", "on a curve: look at that step, or rewind the training to it"},
    Row{"Shift drag", "mean, extremes and slope of a range; Shift click: no longer"},
    Row{"Double-click", "show everything; on a gap: put it back"},
    Row{"Legend", "hide or show a curve"},
    Row{"Slider", "drag, it counts when let go; Ctrl-click to type a number"},
    Row{"Drag a gap", "resize the panels"},
    Row{"Drag a tab",
        "along its row, into another panel, to its edge, or onto the toolbar to float; right click: more"},
};

constexpr std::array kPanels{
    Row{"Curves",
        "plots of one metric each: every training step (faint), its smoothed mean, the tests, a flag where "
        "something was changed (click it to name it), and the curves of earlier runs"},
    Row{"Features",
        "what the output of a layer is worth to a classifier that learns from it: \"Judge now\" takes the "
        "weights of "
        "this moment; change the layer, the classifier or C and see at once; click on a picture to look at "
        "it everywhere"},
    Row{"Images",
        "held-out images, what the network makes of them now, and the difference; \"rows\" adds other "
        "precisions, steps, checkpoints and runs, a double click enlarges; of a network that "
        "classifies: its predictions, worst first, and the confusion matrix, whose cells show their images"},
    Row{"Kernels",
        "each operation of the step: the variant that runs it, its time and its distance from what the "
        "device could do; choose another variant and the training goes on with it"},
    Row{"Laboratory",
        "Bench times every variant by itself, Verify holds each against the reference, Determinism runs a "
        "step twice and compares bits, Ladder lists how fast each selection of this run was"},
    Row{"Latent",
        "test images in the plane of their latents: click on one, draw a lasso (Shift drag) around some, "
        "walk "
        "from one to another or along the components and see what the decoder makes of it"},
    Row{"Own kernels",
        "write a kernel in your editor: each time you save it, it is compiled, proved and timed beside the "
        "training; Apply puts it into the next step, Ctrl Z takes it back"},
    Row{"Runs",
        "earlier runs of this folder: click on one to lay its curves over the present ones, on its colour to "
        "choose another; below or beside them the settings that differ"},
    Row{"Training",
        "learning rate and batch, and in tabs: the results so far, the optimizer, the schedule with a "
        "preview, a finder of learning rates, and the augmentation of the images; all of it changes while it "
        "trains"},
    Row{"Status", "how images reach the screen, frame times, device memory, data, and the log"},
};

// Rows of two columns under a heading; returns nothing, moves the cursor.
template <std::size_t N>
void section(const Frame& frame, const char* title, const std::array<Row, N>& rows, float left_width,
             float width) {
  const float s = frame.scale;
  row_text(frame, frame.fonts.strong, frame.palette.accent, title);
  const float start = ImGui::GetCursorPosX();
  for (const Row& row : rows) {
    ImGui::PushStyleColor(ImGuiCol_Text, frame.palette.text);
    ImGui::TextUnformatted(row.left);
    ImGui::PopStyleColor();
    ImGui::SameLine(start + left_width);
    ImGui::PushStyleColor(ImGuiCol_Text, frame.palette.muted);
    ImGui::PushTextWrapPos(start + width);
    ImGui::TextUnformatted(row.right);
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
  }
  ImGui::Dummy(ImVec2(1, 6 * s));
}

}  // namespace

void draw_help(const Frame& frame, bool* open) {
  static bool shown = false;  // there is one page
  if (!*open && !shown) return;
  if (!shown) ImGui::OpenPopup("help");
  shown = true;
  const float s = frame.scale;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float width = std::min(640 * s, display.x - 32 * s);
  ImGui::SetNextWindowPos(ImVec2(std::floor(display.x / 2), std::floor(display.y / 2)), ImGuiCond_Always,
                          ImVec2(0.5f, 0.5f));
  ImGui::SetNextWindowSizeConstraints(ImVec2(width, 0), ImVec2(width, display.y - 16 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(24 * s, 16 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_PopupBorderSize, std::max(1.0f, std::floor(s)));
  // A popup: while it is open nothing below it is hovered, so that no tool-tip covers it, and a click beside
  // it closes it.
  const bool visible = ImGui::BeginPopup("help", ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar(2);
  if (!visible) {
    *open = shown = false;
    return;
  }
  const float inner = ImGui::GetContentRegionAvail().x;
  row_text(frame, frame.fonts.strong, frame.palette.text, "Warpscope");
  ImGui::SameLine();
  ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x - ImGui::GetFrameHeight());
  if (icon_button(frame, "help.close", Icon::close, "Close (F1)")) *open = false;
  section(frame, "Keys", kKeys, 176 * s, inner);
  section(frame, "Mouse", kMouse, 176 * s, inner);
  section(frame, "Panels", kPanels, 96 * s, inner);
  row_text(frame, frame.fonts.small, frame.palette.muted,
           "Rest the pointer on any number to see how it was measured.");
  if (!*open) {
    ImGui::CloseCurrentPopup();
    shown = false;
  }
  ImGui::EndPopup();
}

}  // namespace warpscope::ui
