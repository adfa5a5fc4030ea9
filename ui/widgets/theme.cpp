#include "ui/widgets/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpscope::ui {
namespace {

constexpr ImU32 rgb(unsigned value, unsigned alpha = 255) {
  return IM_COL32((value >> 16) & 255, (value >> 8) & 255, value & 255, alpha);
}

// The backgrounds and lines of the dark and of the light themes.
constexpr Palette kDark{
    .background = rgb(0x0B0D11),
    .panel = rgb(0x14171D),
    .popup = rgb(0x1B2028),
    .control = rgb(0x20252E),
    .control_hovered = rgb(0x2B323D),
    .control_held = rgb(0x36404E),
    .border = rgb(0x2D3440),
    .grid = rgb(0x262C36),
    .text = rgb(0xE6E9EE),
    .muted = rgb(0x9AA3B1),
    .accent = rgb(0x8C9EFF),
    .good = rgb(0x3FBF8F),
    .warning = rgb(0xE8B23A),
    .error = rgb(0xF2756A),
    // Sky blue and orange first: training and test are always on the screen. The palette's
    // black is a grey here.
    .series = {rgb(0x56B4E9), rgb(0xE69F00), rgb(0x009E73), rgb(0xCC79A7), rgb(0xD55E00), rgb(0xF0E442),
               rgb(0x0072B2), rgb(0x9AA3AF)},
    .more_classes = {rgb(0xE6E9EE), rgb(0xA5694F)}};

constexpr Palette kLight{.background = rgb(0xDDE1E8),
                         .panel = rgb(0xFFFFFF),
                         .popup = rgb(0xFFFFFF),
                         .control = rgb(0xEEF1F5),
                         .control_hovered = rgb(0xE1E6EC),
                         .control_held = rgb(0xD3DAE3),
                         .border = rgb(0xC3CBD6),
                         .grid = rgb(0xDFE4EA),
                         .text = rgb(0x1A1F27),
                         .muted = rgb(0x4E5866),
                         .accent = rgb(0x3B4CC0),
                         .good = rgb(0x0B6B49),
                         .warning = rgb(0x7A5200),
                         .error = rgb(0xB3261E),
                         .series = {rgb(0x2485BD), rgb(0xB97A00), rgb(0x008A64), rgb(0xB85C90), rgb(0xC45500),
                                    rgb(0x8F8500), rgb(0x005A8F), rgb(0x6E7783)},
                         .more_classes = {rgb(0x1A1F27), rgb(0xA5694F)}};

// The palette with other colours for what tells something: accent, good, warning, error, then the series and classes.
constexpr Palette recoloured(Palette palette, const std::array<unsigned, 14>& colors) {
  ImU32* const signals[] = {&palette.accent, &palette.good, &palette.warning, &palette.error};
  for (std::size_t i = 0; i < 4; ++i) *signals[i] = rgb(colors[i]);
  for (std::size_t i = 0; i < 8; ++i) palette.series[i] = rgb(colors[4 + i]);
  for (std::size_t i = 0; i < 2; ++i) palette.more_classes[i] = rgb(colors[12 + i]);
  return palette;
}

// These differ in lightness, and in blue against yellow.
constexpr Palette kDarkSafe = recoloured(kDark, {0xB47EFF, 0x56B4E9, 0xF0E442, 0xF5813A,  //
                                                 0x6CBBFF, 0xCE7700, 0x00FFA0, 0x857E82,  //
                                                 0x8E5D35, 0xFFD80B, 0x1466BD, 0xECF6FF,  //
                                                 0x961EFF, 0xF096C3});

constexpr Palette kLightSafe = recoloured(kLight, {0x8700D2, 0x005A8F, 0x8A5A00, 0x6B0F00,  //
                                                   0x0067E7, 0xC68500, 0x009673, 0x713262,  //
                                                   0x610F00, 0x99773A, 0x003387, 0x8189A9,  //
                                                   0x1A1F27, 0xB478E1});

constexpr std::array kThemes{ThemeRow{"dark", "Dark", kDark}, ThemeRow{"light", "Light", kLight},
                             ThemeRow{"dark_safe", "Dark, colour-blind safe", kDarkSafe},
                             ThemeRow{"light_safe", "Light, colour-blind safe", kLightSafe}};

void set(ImGuiStyle& style, ImGuiCol slot, ImU32 color, float opacity = 1) {
  style.Colors[slot] = ImGui::ColorConvertU32ToFloat4(color);
  style.Colors[slot].w = opacity;
}

void set_colors(ImGuiStyle& style, const Palette& palette) {
  set(style, ImGuiCol_Text, palette.text);
  set(style, ImGuiCol_TextDisabled, palette.muted);
  set(style, ImGuiCol_WindowBg, palette.panel);
  set(style, ImGuiCol_ChildBg, palette.panel, 0);
  set(style, ImGuiCol_PopupBg, palette.popup);
  set(style, ImGuiCol_Border, palette.border);
  set(style, ImGuiCol_BorderShadow, palette.border, 0);
  set(style, ImGuiCol_FrameBg, palette.control);
  set(style, ImGuiCol_FrameBgHovered, palette.control_hovered);
  set(style, ImGuiCol_FrameBgActive, palette.control_hovered);
  set(style, ImGuiCol_Button, palette.control);
  set(style, ImGuiCol_ButtonHovered, palette.control_hovered);
  set(style, ImGuiCol_ButtonActive, palette.control_held);
  set(style, ImGuiCol_Header, palette.control_hovered);
  set(style, ImGuiCol_HeaderHovered, palette.control_hovered);
  set(style, ImGuiCol_HeaderActive, palette.control_held);
  set(style, ImGuiCol_ScrollbarBg, palette.panel, 0);
  set(style, ImGuiCol_ScrollbarGrab, palette.control_hovered);
  set(style, ImGuiCol_ScrollbarGrabHovered, palette.control_held);
  set(style, ImGuiCol_ScrollbarGrabActive, palette.muted);
  set(style, ImGuiCol_CheckMark, palette.accent);
  set(style, ImGuiCol_SliderGrab, palette.accent);
  set(style, ImGuiCol_SliderGrabActive, palette.text);
  set(style, ImGuiCol_Separator, palette.border);
  set(style, ImGuiCol_SeparatorHovered, palette.accent);
  set(style, ImGuiCol_SeparatorActive, palette.accent);
  set(style, ImGuiCol_ResizeGrip, palette.control_hovered);
  set(style, ImGuiCol_ResizeGripHovered, palette.accent);
  set(style, ImGuiCol_ResizeGripActive, palette.accent);
  set(style, ImGuiCol_TextSelectedBg, palette.accent, 0.35f);
  set(style, ImGuiCol_TableHeaderBg, palette.panel);
  set(style, ImGuiCol_TableBorderStrong, palette.border);
  set(style, ImGuiCol_TableBorderLight, palette.grid);
  set(style, ImGuiCol_TableRowBg, palette.panel, 0);
  set(style, ImGuiCol_TableRowBgAlt, palette.text, 0.02f);
  set(style, ImGuiCol_NavHighlight, palette.accent);
  set(style, ImGuiCol_ModalWindowDimBg, palette.background, 0.63f);
}

double linear(ImU32 color, int shift) {
  const double value = static_cast<double>((color >> static_cast<unsigned>(shift)) & 255U) / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

std::span<const ThemeRow> themes() {
  return kThemes;
}

const ThemeRow& facts_of(Theme theme) {
  return kThemes[static_cast<std::size_t>(theme)];
}

std::optional<Theme> theme_called(std::string_view id) {
  for (std::size_t i = 0; i < kThemes.size(); ++i) {
    if (id == kThemes[i].id) return static_cast<Theme>(i);
  }
  return std::nullopt;
}

void apply_theme(const Palette& palette, float scale) {
  ImGuiStyle style;
  set_colors(style, palette);
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

double relative_luminance(ImU32 color) {
  return 0.2126 * linear(color, IM_COL32_R_SHIFT) + 0.7152 * linear(color, IM_COL32_G_SHIFT) +
         0.0722 * linear(color, IM_COL32_B_SHIFT);
}

double contrast(ImU32 a, ImU32 b) {
  const auto [darker, lighter] = std::minmax({relative_luminance(a), relative_luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

ImU32 readable_on(ImU32 back, ImU32 first, ImU32 second) {
  return contrast(first, back) >= contrast(second, back) ? first : second;
}

}  // namespace warpscope::ui
