#pragma once
// A machine-readable trace of what the window shows, for tests that click on the real widgets. The
// environment variable WARPSCOPE_UI_TRACE names a file; the window appends one JSON object a line to it.
// Without the variable nothing is done.

#include <string>
#include <string_view>

#include <imgui.h>

namespace warpscope::ui {

/// True if a trace is written.
bool trace_enabled();

/// Appends {"event":"<event>","time":<seconds of the steady clock>,<fields>}. `fields` is the inside of a
/// JSON object: "\"fps\":59.8".
void trace_event(std::string_view event, const std::string& fields);

/// trace_event() where `fields` are others than the `last` ones, which they then become.
void trace_change(std::string& last, std::string_view event, const std::string& fields);

/// Notes the rectangle of the last ImGui item under `name` ("toolbar.pause") if it is visible and differs
/// from the one noted before:
/// {"event":"layout","name":"toolbar.pause","x":..,"y":..,"w":..,"h":..}, in pixels of the window, clipped to
/// what can be seen.
void trace_item(std::string_view name);

/// Notes that the list of choices `name` is open in this frame.
void trace_open_list(std::string_view name);

/// The last list that was noted since this was asked before, or "".
std::string traced_open_list();

/// trace_item() for a rectangle that is not an ImGui item.
void trace_rectangle(std::string_view name, ImVec2 min, ImVec2 max);

/// Text as a JSON string, with its quotes.
std::string json_string(std::string_view text);

}  // namespace warpscope::ui
