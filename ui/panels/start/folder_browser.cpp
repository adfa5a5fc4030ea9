#include "ui/panels/start/folder_browser.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "gpu/files/text.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

// Design pixels.
constexpr float kBrowserWidth = 380, kBrowserHeight = 340;
constexpr std::size_t kMostNames = 1000;

fs::path home_folder() {
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path("/") : fs::path(home);
}

void keep_first(std::vector<std::string>& names, std::size_t most) {
  std::sort(names.begin(), names.end());
  if (names.size() > most) names.resize(most);
}

// True if it was clicked.
bool draw_listed_name(const Frame& frame, const std::string& id, const std::string& label) {
  const float s = frame.scale, width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool clicked = hit_area(id.c_str(), ImVec2(width, ImGui::GetFrameHeight()));
  trace_item(id);
  if (!ImGui::IsItemVisible()) return clicked;  // there may be thousands
  auto* const list = ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered())
    list->AddRectFilled(at, ImVec2(at.x + width, at.y + ImGui::GetFrameHeight()),
                        frame.palette.control_hovered, 3 * s);
  draw_text(list, frame.fonts.text, at.x + 8 * s, row_baseline(frame, at.y), frame.palette.text,
            ellipsize(frame.fonts.text, label, width - 16 * s));
  return clicked;
}

}  // namespace

FolderListing list_folder(const fs::path& folder, const std::vector<std::string_view>& ends,
                          std::size_t most) {
  FolderListing listing{.folder = folder};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code error;
    if (entry.is_directory(error)) listing.folders.push_back(name);
    const std::string end = entry.path().extension().string();
    const bool wanted = std::find(ends.begin(), ends.end(), end) != ends.end();
    if (wanted && entry.is_regular_file(error)) listing.files.push_back(name);
  }
  keep_first(listing.folders, most);
  keep_first(listing.files, most);
  return listing;
}

float FolderBrowser::width(const Frame& frame) const {
  return text_button_width(frame, what_.label);
}

// What cannot be read leaves the list as it is.
bool FolderBrowser::advance() {
  auto answer = reader_.take();
  if (!answer) return false;
  error_ = std::move(answer->error);
  if (answer->result) listing_ = std::move(*answer->result);
  return true;
}

void FolderBrowser::go_to(const fs::path& folder) {
  reader_.ask(
      [folder, ends = what_.ends](const data::Stopped&) { return list_folder(folder, ends, kMostNames); });
}

std::optional<fs::path> FolderBrowser::draw(const Frame& frame, bool enabled, std::string_view tip) {
  const float s = frame.scale;
  const std::string popup = what_.name + "##popup";
  const bool pressed =
      text_button(frame, what_.name.c_str(), what_.label, tip.empty() ? what_.tip : tip, enabled);
  if (pressed || (std::exchange(opens_, false) && enabled)) {
    go_to(listing_.folder.empty() ? home_folder() : listing_.folder);
    ImGui::OpenPopup(popup.c_str());
  }
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const float left = std::min(ImGui::GetItemRectMin().x, display.x - kBrowserWidth * s);
  const float height = std::floor(std::min(kBrowserHeight * s, display.y - 16 * s));
  const float top = std::min(ImGui::GetItemRectMax().y + 2 * s, display.y - height - 8 * s);
  ImGui::SetNextWindowPos(ImVec2(std::max(0.0f, left), top));
  ImGui::SetNextWindowSize(ImVec2(std::floor(kBrowserWidth * s), height));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(8 * s, 8 * s));
  const bool open = ImGui::BeginPopup(popup.c_str(), ImGuiWindowFlags_NoMove);
  ImGui::PopStyleVar();
  if (!open) return {};
  trace_open_list(what_.name);
  std::optional<fs::path> chosen = draw_listing(frame);
  if (chosen) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
  return chosen;
}

std::optional<fs::path> FolderBrowser::draw_listing(const Frame& frame) {
  const fs::path folder = listing_.folder, parent = folder.parent_path();
  if (icon_button(frame, (what_.name + "_up").c_str(), Icon::up, "The folder that this one is in",
                  parent != folder))
    go_to(parent);
  ImGui::SameLine(0, 8 * frame.scale);
  row_text(frame, frame.fonts.text, frame.palette.muted,
           ellipsize(frame.fonts.text, files::sayable(folder.string()), ImGui::GetContentRegionAvail().x));
  const float below = ImGui::GetFrameHeight() + ImGui::GetStyle().ItemSpacing.y;
  const bool takes_folders = *what_.take != '\0';
  ImGui::BeginChild((what_.name + "_names").c_str(), ImVec2(0, takes_folders ? -below : 0));
  std::optional<fs::path> chosen = draw_names(frame);
  ImGui::EndChild();
  if (takes_folders &&
      text_button(frame, (what_.name + "_take").c_str(), what_.take, what_.take_tip, !folder.empty()))
    chosen = folder;
  return chosen;
}

std::optional<fs::path> FolderBrowser::draw_names(const Frame& frame) {
  if (!error_.empty()) paragraph(frame.fonts.small, frame.palette.error, sentence(files::sayable(error_)));
  std::optional<fs::path> next, chosen;
  for (const std::string& name : listing_.folders) {
    if (draw_listed_name(frame, what_.name + "." + name, files::sayable(name) + "/"))
      next = listing_.folder / name;
  }
  for (const std::string& name : listing_.files) {
    if (draw_listed_name(frame, what_.name + "." + name, files::sayable(name)))
      chosen = listing_.folder / name;
  }
  if (listing_.folders.empty() && listing_.files.empty() && !reader_.busy()) caption(frame, what_.nothing);
  if (next) go_to(*next);
  return chosen;
}

}  // namespace warpscope::ui
