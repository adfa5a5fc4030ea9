#include "ui/panels/network/network_layer_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using models::Layer;
using models::LayerField;

// Design pixels.
constexpr float kFieldGap = 12, kLabelGap = 6, kRowGap = 4, kIndent = 16;
constexpr float kNameWidth = 120, kKindWidth = 136, kSizesWidth = 168, kParametersWidth = 96,
                kReferenceWidth = 112;
constexpr float kMostMoreForNames = 200, kMostSpare = 256;
constexpr float kLeastWithParameters = 560;  // of a row, its fields below
constexpr float kLeastLines = 4;             // in view where the rows scroll by themselves
constexpr std::size_t kMostName = 65;        // with the zero at its end
constexpr float kFocusOpacity = 0.16f, kHoverOpacity = 0.06f;
constexpr const char* kUnknown = "-";

float form_line_height(const Frame& frame) {
  return ImGui::GetFrameHeight() + std::floor(kRowGap * frame.scale);
}

bool is_plain_flag(const LayerField& field) {
  return field.flag != nullptr && field.on.empty();
}

std::string word(std::string_view text) {
  return std::string(text);
}

/// The width of the box or menu of a field; pixels.
float control_width(const Frame& frame, const LayerField& field) {
  const float s = frame.scale;
  if (is_plain_flag(field)) return text_width(frame.fonts.text, field.key) + 16 * s;
  if (field.flag != nullptr) {
    const float widest =
        std::max(text_width(frame.fonts.text, field.off), text_width(frame.fonts.text, field.on));
    return std::ceil(widest + 32 * s);
  }
  if (field.text != nullptr) return std::floor(kReferenceWidth * s);
  const std::string most = field.real != nullptr ? "0.0000" : fmt::format("{:.0f}", field.most);
  return std::ceil(text_width(frame.fonts.numbers, most) + 20 * s);
}

/// With its label; pixels.
float field_width(const Frame& frame, const LayerField& field) {
  const float label =
      is_plain_flag(field) ? 0 : text_width(frame.fonts.small, field.key) + kLabelGap * frame.scale;
  return std::ceil(label + control_width(frame, field));
}

/// Where the fields of a layer stand, line by line, in a room of `width` pixels; returns the number of lines.
template <class Place>
int flow(const Frame& frame, const std::vector<LayerField>& fields, float width, Place place) {
  const float gap = std::floor(kFieldGap * frame.scale);
  float x = 0;
  int line = 0;
  for (const LayerField& field : fields) {
    const float wanted = field_width(frame, field);
    if (x > 0 && x + wanted > width) {
      x = 0;
      ++line;
    }
    place(field, x, line);
    x += wanted + gap;
  }
  return fields.empty() ? 0 : line + 1;
}

int lines_of(const Frame& frame, const Layer& layer, float width) {
  return flow(frame, models::row_of(layer.kind).fields, width, [](const LayerField&, float, int) {});
}

float widest_fields(const Frame& frame) {
  float widest = 0;
  for (const models::LayerRow& row : models::layer_rows()) {
    float width = 0;
    for (const LayerField& field : row.fields)
      width += field_width(frame, field) + std::floor(kFieldGap * frame.scale);
    widest = std::max(widest, width);
  }
  return widest;
}

/// Pixels that the longest name takes beyond the usual width of its box.
float more_for_names(const Frame& frame, const NetworkDraft& draft) {
  float widest = 0;
  for (const Layer& layer : draft.network().layers)
    widest = std::max(widest, text_width(frame.fonts.text, layer.name));
  return std::clamp(std::ceil(widest + 20 * frame.scale - kNameWidth * frame.scale), 0.0f,
                    kMostMoreForNames * frame.scale);
}

std::string size_text(const std::optional<models::Extent>& extent) {
  if (!extent) return kUnknown;
  if (extent->height == 1 && extent->width == 1) return with_thousands(extent->channels);
  return fmt::format("{}\u00d7{}\u00d7{}", extent->height, extent->width, extent->channels);
}

std::string tip_of(const LayerField& field) {
  std::string tip(field.meaning);
  if (field.number != nullptr) {
    tip += fmt::format(": {} from {} to {}", field.odd ? "an odd number" : "a whole number",
                       with_thousands(field.least), with_thousands(field.most));
  } else if (field.real != nullptr) {
    tip += fmt::format(": from {:g} to {:g}", field.least, field.most);
  }
  return tip;
}

void draw_fault(const Frame& frame, const std::string& why, ImVec2 min, ImVec2 max) {
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.text, min.x,
            row_baseline(frame, min.y + std::floor(kRowGap * frame.scale / 2)), frame.palette.error,
            ellipsize(frame.fonts.text, why, max.x - min.x));
  area_tooltip(frame, min, max, why);
}

/// A menu of the layers that it may name.
void draw_reference(const Frame& frame, NetworkDraft& draft, std::size_t at, const LayerField& field,
                    const std::string& name) {
  const std::string now = draft.network().layers[at].*field.text;
  if (!begin_combo(frame, name.c_str(), now, std::floor(kReferenceWidth * frame.scale), field.meaning))
    return;
  const std::vector<std::string> names = draft.earlier(at);
  if (names.empty()) caption(frame, "no earlier layer has the size of its input");
  for (const std::string& each : names) {
    if (combo_item(frame, fmt::format("{}={}", name, each).c_str(), each.c_str(), each == now))
      draft.set(at, field, each);
  }
  end_combo();
}

}  // namespace

LayerForm::Places LayerForm::places_for(const Frame& frame, const NetworkDraft& draft, float width) {
  const float s = frame.scale, gap = std::floor(kFieldGap * s), fields = widest_fields(frame);
  Places places;
  const float right = width - std::floor(4 * s), sizes_width = std::floor(kSizesWidth * s);
  const bool parameters = width >= kLeastWithParameters * s;
  if (parameters) places.parameters = right;
  places.sizes = parameters ? right - std::floor(kParametersWidth * s) : right;
  places.name = std::floor(8 * s);
  places.name_width = std::floor(kNameWidth * s);
  places.kind_width = std::floor(kKindWidth * s);
  // What is left beside them, with the fields in the same line or in one below.
  const float left =
      places.sizes - sizes_width - places.name - places.name_width - places.kind_width - 3 * gap;
  places.below = left < fields;
  const float spare = places.below ? left : left - fields;
  if (spare < 0) places.kind_width = std::max(0.0f, places.kind_width + spare);
  if (spare > 0) places.name_width += std::min(spare, more_for_names(frame, draft));
  // In a wide panel a part of what is left stands between the columns on either side of the fields.
  const float between = std::floor(std::max(0.0f, spare - kMostSpare * s) / 3);
  places.kind_width += between;
  places.sizes -= between;
  places.kind = places.name + places.name_width + gap;
  places.fields = places.below ? std::floor(kIndent * s) : places.kind + places.kind_width + gap;
  places.fields_width = places.below ? right - places.fields : fields;
  return places;
}

void LayerForm::draw_header(const Frame& frame, const Places& places) const {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float baseline = row_baseline(frame, at.y);
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const ImFont* const font = frame.fonts.small;
  const auto left = [&](float x, const char* text) {
    draw_text(list, font, at.x + x, baseline, frame.palette.muted, text);
  };
  const auto right = [&](float x, const char* text) {
    draw_text(list, font, at.x + x - text_width(font, text), baseline, frame.palette.muted, text);
  };
  left(places.name, "layer");
  if (places.kind_width > 24 * frame.scale) left(places.kind, "kind");
  if (!places.below) left(places.fields, "fields");
  right(places.sizes, "input \u2192 output");
  if (places.parameters > 0) right(places.parameters, "parameters");
  const float width = ImGui::GetContentRegionAvail().x, bottom = at.y + ImGui::GetFrameHeight();
  list->AddRectFilled(ImVec2(at.x, bottom - hairline(frame)), ImVec2(at.x + width, bottom),
                      frame.palette.grid);
  ImGui::Dummy(ImVec2(1, ImGui::GetFrameHeight()));
}

void LayerForm::draw(const Frame& frame, NetworkDraft& draft, std::size_t& focus, std::string& message) {
  holds_text_ = false;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const bool scrolls = room.y >= ImGui::GetFrameHeight() + kLeastLines * form_line_height(frame);
  const Places places = places_for(frame, draft, room.x - (scrolls ? ImGui::GetStyle().ScrollbarSize : 0.0f));
  draw_header(frame, places);
  // The buttons above, of which one may have been pressed, stay where they are.
  if (!scrolls) scrolls_ = false;
  if (scrolls) ImGui::BeginChild("network.form", ImVec2(0, 0));
  for (std::size_t at = 0; at < draft.network().layers.size(); ++at) {
    draw_row(frame, draft, at, places, focus, message);
  }
  if (scrolls) ImGui::EndChild();
  ImGui::PopStyleVar();
}

void LayerForm::draw_row(const Frame& frame, NetworkDraft& draft, std::size_t at, const Places& places,
                         std::size_t& focus, std::string& message) {
  const float s = frame.scale;
  // Asked before the fields are drawn: what a person enters in them may mend it.
  const bool faulty = draft.fault() && draft.fault()->layer == at;
  const std::string why = faulty ? draft.fault()->why : "";
  const int below = places.below ? lines_of(frame, draft.network().layers[at], places.fields_width) : 0;
  const ImVec2 min = ImGui::GetCursorScreenPos();
  const float width = std::max(places.parameters, places.sizes) + std::floor(4 * s);
  const ImVec2 max(min.x + width,
                   min.y + form_line_height(frame) * static_cast<float>(1 + below + (faulty ? 1 : 0)));
  if (scrolls_ && focus == at) {
    scrolls_ = false;
    const float top = ImGui::GetWindowPos().y;
    const bool seen = min.y >= top && max.y <= top + ImGui::GetWindowHeight();
    if (!seen) ImGui::SetScrollFromPosY((min.y + max.y) / 2 - top, 0.5f);
    redraw_at(frame, ImGui::GetTime());
  }
  // A field that takes keys is drawn out of view too, so that it tells when it is left.
  if (ImGui::IsRectVisible(min, max) || ImGui::IsAnyItemActive()) {
    ImDrawList* const list = ImGui::GetWindowDrawList();
    const bool hovered = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) &&
                         ImGui::IsMouseHoveringRect(min, max);
    if (hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) focus = at;
    const float opacity = focus == at ? kFocusOpacity : hovered ? kHoverOpacity : 0;
    if (opacity > 0) list->AddRectFilled(min, max, blend(frame.palette.accent, frame.palette.panel, opacity));
    if (focus == at) list->AddRectFilled(min, ImVec2(min.x + std::floor(3 * s), max.y), frame.palette.accent);
    list->AddRectFilled(ImVec2(min.x, max.y - hairline(frame)), max, frame.palette.grid);
    if (trace_enabled()) trace_rectangle(fmt::format("network.row.{}", at), min, max);
    draw_cells(frame, draft, at, places, min, message);
    if (faulty) draw_fault(frame, why, ImVec2(min.x + places.name, max.y - form_line_height(frame)), max);
  }
  ImGui::SetCursorScreenPos(min);
  ImGui::Dummy(ImVec2(1, max.y - min.y));
}

/// What stands in a row whose upper left corner is `min`.
void LayerForm::draw_cells(const Frame& frame, NetworkDraft& draft, std::size_t at, const Places& places,
                           ImVec2 min, std::string& message) {
  const float line = form_line_height(frame), top = min.y + std::floor(kRowGap * frame.scale / 2);
  draw_sizes(frame, draft.rows()[at], ImVec2(min.x, top), places);
  const models::LayerRow& row = models::row_of(draft.network().layers[at].kind);
  const float kind = min.x + places.kind;
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.text, kind, row_baseline(frame, top), frame.palette.muted,
            ellipsize(frame.fonts.text, row.name, places.kind_width));
  area_tooltip(frame, ImVec2(kind, top), ImVec2(kind + places.kind_width, top + line),
               fmt::format("{}: {}", row.name, row.summary));
  ImGui::SetCursorScreenPos(ImVec2(min.x + places.name, top));
  draw_name(frame, draft, at, places.name_width, message);
  draw_fields(frame, draft, at, ImVec2(min.x + places.fields, places.below ? top + line : top),
              places.fields_width, message);
}

void LayerForm::draw_name(const Frame& frame, NetworkDraft& draft, std::size_t at, float width,
                          std::string& message) {
  const std::string& name = draft.network().layers[at].name;
  std::array<char, kMostName> buffer{};
  const std::string& shown = typing_ == at ? typed_ : name;
  shown.copy(buffer.data(), buffer.size() - 1);
  ImGui::SetNextItemWidth(width);
  const std::string id = fmt::format("##network.edit.{}.name", at);
  const bool entered =
      ImGui::InputText(id.c_str(), buffer.data(), buffer.size(),
                       ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  trace_item(std::string_view(id).substr(2));
  const bool active = ImGui::IsItemActive(), was = typing_ == at;
  if (active) {
    typing_ = at;
    typed_ = buffer.data();
    if (typed_ != name) holds_text_ = true;
    outline_typed(frame);
    return;
  }
  if (!entered && !was) return tooltip(frame, name);
  typing_ = SIZE_MAX;
  message = draft.rename(at, buffer.data());
}

void LayerForm::draw_sizes(const Frame& frame, const DraftRow& row, ImVec2 at, const Places& places) const {
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const float baseline = row_baseline(frame, at.y);
  const std::string sizes = row.input == row.output
                                ? size_text(row.output)
                                : fmt::format("{} \u2192 {}", size_text(row.input), size_text(row.output));
  const ImFont* const font = frame.fonts.small;
  draw_text(list, font, at.x + places.sizes - text_width(font, sizes), baseline,
            row.output ? frame.palette.text : frame.palette.muted, sizes);
  if (places.parameters <= 0) return;
  const std::string parameters = row.parameters ? with_thousands(*row.parameters) : kUnknown;
  draw_text(list, frame.fonts.numbers, at.x + places.parameters - text_width(frame.fonts.numbers, parameters),
            baseline, row.parameters.value_or(0) > 0 ? frame.palette.text : frame.palette.muted, parameters);
}

void LayerForm::draw_fields(const Frame& frame, NetworkDraft& draft, std::size_t at, ImVec2 from, float width,
                            std::string& message) {
  const std::vector<LayerField>& fields = models::row_of(draft.network().layers[at].kind).fields;
  const float line = form_line_height(frame);
  flow(frame, fields, width, [&](const LayerField& field, float x, int row) {
    ImGui::SetCursorScreenPos(ImVec2(from.x + x, from.y + line * static_cast<float>(row)));
    draw_field(frame, draft, at, field, message);
  });
}

void LayerForm::draw_field(const Frame& frame, NetworkDraft& draft, std::size_t at, const LayerField& field,
                           std::string& message) {
  const std::string name = fmt::format("network.edit.{}.{}", at, field.key), key = word(field.key);
  const double value = value_of(field, draft.network().layers[at]);
  if (is_plain_flag(field)) {
    bool on = value != 0;
    if (toggle(frame, name.c_str(), key.c_str(), &on, field.meaning)) draft.set(at, field, on ? 1 : 0);
    return;
  }
  caption(frame, field.key);
  tooltip(frame, tip_of(field));
  ImGui::SameLine(0, std::floor(kLabelGap * frame.scale));
  const float width = control_width(frame, field);
  if (field.text != nullptr) return draw_reference(frame, draft, at, field, name);
  if (field.flag != nullptr) {
    if (!begin_combo(frame, name.c_str(), word(value != 0 ? field.on : field.off), width, field.meaning))
      return;
    for (const bool on : {false, true}) {
      const std::string choice = word(on ? field.on : field.off);
      if (combo_item(frame, fmt::format("{}={}", name, choice).c_str(), choice.c_str(), on == (value != 0)))
        draft.set(at, field, on ? 1 : 0);
    }
    return end_combo();
  }
  const ValueSpec spec{
      .name = name,
      .label = key,
      .tip = tip_of(field),
      .limits = {.least = field.least, .most = field.most, .integer = field.number != nullptr}};
  const ValueEdit edit = boxes_[name].draw_box(frame, spec, value, width);
  if (boxes_[name].typed()) holds_text_ = true;
  if (!edit.refusal.empty()) message = edit.refusal;
  if (!edit.finished) return;
  message.clear();
  draft.set(at, field, edit.value);
}

}  // namespace warpscope::ui
