#include "ui/theme.h"

#include <cmath>

namespace warpscope::ui {
namespace {

constexpr ImU32 rgb(unsigned value, unsigned alpha = 255) {
  return IM_COL32((value >> 16) & 255, (value >> 8) & 255, value & 255, alpha);
}

constexpr unsigned kBackground = 0x0B0D11;
constexpr unsigned kPanel = 0x14171D;
constexpr unsigned kControl = 0x20252E;
constexpr unsigned kControlHovered = 0x2B323D;
constexpr unsigned kControlHeld = 0x36404E;
constexpr unsigned kPopup = 0x1B2028;
constexpr unsigned kBorder = 0x2D3440;
constexpr unsigned kText = 0xE6E9EE;
constexpr unsigned kMuted = 0x8A93A1;
constexpr unsigned kAccent = 0x8C9EFF;

void set(ImGuiStyle& style, ImGuiCol slot, unsigned color, unsigned alpha = 255) {
  style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(rgb(color, alpha));
}

void set_colors(ImGuiStyle& style) {
  set(style, ImGuiCol_Text, kText);
  set(style, ImGuiCol_TextDisabled, kMuted);
  set(style, ImGuiCol_WindowBg, kPanel);
  set(style, ImGuiCol_ChildBg, kPanel, 0);
  set(style, ImGuiCol_PopupBg, kPopup);
  set(style, ImGuiCol_Border, kBorder);
  set(style, ImGuiCol_BorderShadow, 0, 0);
  set(style, ImGuiCol_FrameBg, kControl);
  set(style, ImGuiCol_FrameBgHovered, kControlHovered);
  set(style, ImGuiCol_FrameBgActive, kControlHovered);
  set(style, ImGuiCol_Button, kControl);
  set(style, ImGuiCol_ButtonHovered, kControlHovered);
  set(style, ImGuiCol_ButtonActive, kControlHeld);
  set(style, ImGuiCol_Header, kControlHovered);
  set(style, ImGuiCol_HeaderHovered, kControlHovered);
  set(style, ImGuiCol_HeaderActive, kControlHeld);
  set(style, ImGuiCol_ScrollbarBg, kPanel, 0);
  set(style, ImGuiCol_ScrollbarGrab, kControlHovered);
  set(style, ImGuiCol_ScrollbarGrabHovered, kControlHeld);
  set(style, ImGuiCol_ScrollbarGrabActive, kMuted);
  set(style, ImGuiCol_CheckMark, kAccent);
  set(style, ImGuiCol_SliderGrab, kAccent);
  set(style, ImGuiCol_SliderGrabActive, kText);
  set(style, ImGuiCol_Separator, kBorder);
  set(style, ImGuiCol_SeparatorHovered, kAccent);
  set(style, ImGuiCol_SeparatorActive, kAccent);
  set(style, ImGuiCol_TextSelectedBg, kAccent, 90);
  set(style, ImGuiCol_TableHeaderBg, kPanel);
  set(style, ImGuiCol_TableBorderStrong, kBorder);
  set(style, ImGuiCol_TableBorderLight, 0x1D222A);
  set(style, ImGuiCol_TableRowBg, kPanel, 0);
  set(style, ImGuiCol_TableRowBgAlt, 0xFFFFFF, 5);
  set(style, ImGuiCol_NavHighlight, kAccent);
  set(style, ImGuiCol_ModalWindowDimBg, kBackground, 160);
}

}  // namespace

Palette dark_palette() {
  Palette palette{};
  palette.accent = rgb(kAccent);
  palette.text = rgb(kText);
  palette.muted = rgb(kMuted);
  palette.grid = rgb(0x262C36);
  palette.panel = rgb(kPanel);
  // Sky blue and orange first: training and test are always on the screen. The palette's black is a grey
  // here.
  constexpr unsigned kSeries[8] = {0x56B4E9, 0xE69F00, 0x009E73, 0xCC79A7,
                                   0xD55E00, 0xF0E442, 0x0072B2, 0x9AA3AF};
  for (int i = 0; i < 8; ++i) palette.series[i] = rgb(kSeries[i]);
  palette.good = rgb(0x3FBF8F);
  palette.warning = rgb(0xE8B23A);
  palette.error = rgb(0xF2685C);
  return palette;
}

void apply_theme(float scale) {
  ImGuiStyle style;
  set_colors(style);
  style.WindowPadding = ImVec2(12, 8);
  style.FramePadding = ImVec2(8, 4);
  style.ItemSpacing = ImVec2(8, 4);
  style.ItemInnerSpacing = ImVec2(6, 4);
  style.CellPadding = ImVec2(6, 2);
  style.ScrollbarSize = 10;
  style.GrabMinSize = 10;
  style.WindowRounding = 4;
  style.ChildRounding = 0;
  style.FrameRounding = 3;
  style.PopupRounding = 4;
  style.ScrollbarRounding = 5;
  style.GrabRounding = 3;
  style.WindowBorderSize = 0;
  style.ChildBorderSize = 0;
  style.FrameBorderSize = 0;
  style.PopupBorderSize = 1;
  style.DisabledAlpha = 0.4f;
  style.WindowMinSize = ImVec2(16, 16);
  style.ScaleAllSizes(scale);
  style.PopupBorderSize = std::fmax(1.0f, std::floor(scale));
  ImGui::GetStyle() = style;
}

ImVec4 window_background() {
  return ImGui::ColorConvertU32ToFloat4(rgb(kBackground));
}

}  // namespace warpscope::ui
