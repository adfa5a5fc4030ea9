#include "ui/frame/main_view.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include "gpu/files/text.h"
#include "ui/docking/layout.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/help_overlay.h"
#include "ui/panels/laboratory/determinism_rows.h"
#include "ui/panels/runs/view_strip.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

void draw_banner(const Frame& frame, const std::string& text) {
  const float s = frame.scale, width = text_width(frame.fonts.strong, text) + 48 * s, height = 48 * s;
  const ImVec2 display = ImGui::GetIO().DisplaySize;
  const ImVec2 min(std::floor((display.x - width) / 2), std::floor((display.y - height) / 2));
  const ImVec2 max(min.x + width, min.y + height);
  auto* const list = ImGui::GetForegroundDrawList();
  list->AddRectFilled(min, max, ImGui::GetColorU32(ImGuiCol_PopupBg), 4 * s);
  list->AddRect(min, max, frame.palette.accent, 4 * s);
  draw_text(list, frame.fonts.strong, min.x + 24 * s, min.y + height / 2 + 5 * s, frame.palette.text, text);
}

}  // namespace

MainView::MainView(const Settings& settings, const models::Model& model, Trainings& trainings)
    : settings_(settings), panels_(model, trainings) {
  show({settings.plot, settings.images, settings.docking, settings.look});
  dock_.docking = settings.docking;
  if (!settings.problem.empty()) tell(settings.problem, training::LogLevel::warning);
}

void MainView::log(const std::vector<training::FeedItem>& items) {
  for (const auto& item : items) status_.consume(item);
}

void MainView::update_images(const std::shared_ptr<training::ImageExchange>& images, const Frame& frame,
                             bool prepared) {
  panels_.images.update(images, frame, prepared);
}

WindowRequests MainView::handle_keys(const Frame& frame, const std::vector<KeyPress>& keys) {
  WindowRequests requests = std::exchange(asked_, {});
  follow_way_back(frame);
  for (const KeyPress& key : keys) {
    press(frame, key, ImGui::GetIO().WantTextInput || palette_.is_open(), requests);
  }
  return requests;
}

void MainView::press_with_control(const Frame& frame, const KeyPress& key, bool typing,
                                  WindowRequests& requests) {
  const auto zoom_to = [&](float zoom) {
    settings_.look.zoom = zoom;
    settings_.look = limited(settings_.look);
  };
  if (key.letter == 'q') requests.quit = true;
  if (key.letter == 'p') palette_.is_open() ? palette_.close() : palette_.open();
  if (key.letter == '0' || key.key == GLFW_KEY_KP_0) zoom_to(1);
  if (key.letter == '+' || key.letter == '=' || key.key == GLFW_KEY_KP_ADD)
    zoom_to(settings_.look.zoom * Look::kZoomStep);
  if (key.letter == '-' || key.key == GLFW_KEY_KP_SUBTRACT) zoom_to(settings_.look.zoom / Look::kZoomStep);
  if (typing) return;  // the text field has an undo of its own
  if (key.letter == 'n') start_.is_open() ? start_.close() : start_.open(frame.snapshot);
  if (key.letter == 'v') paste(frame);
  if (key.letter == 'c' && panels_.loss.hovered()) panels_.loss.copy();
  if (key.letter == 'z') change_back(frame, key.shift, key.alt && !key.shift);
  if (key.letter == 'y') change_back(frame, true);
}

void MainView::press(const Frame& frame, const KeyPress& key, bool typing, WindowRequests& requests) {
  if (key.control) return press_with_control(frame, key, typing, requests);
  if (key.key == GLFW_KEY_F1) help_open_ = !help_open_;
  if (key.key == GLFW_KEY_F12) requests.screenshot = true;
  if (key.key == GLFW_KEY_ESCAPE && !palette_.is_open() && close_last_popup()) return;
  if (key.key == GLFW_KEY_ESCAPE) {
    palette_.close();
    dock_.cancel_drag();
    tour_.end();
  }
  if (typing) return;
  if (key.key == GLFW_KEY_ESCAPE && start_.is_open()) return start_.close();
  if (panels_.images.handle_key(frame, key.letter, key.key == GLFW_KEY_ESCAPE)) return;
  if (key.key == GLFW_KEY_ESCAPE && frame.cursor != nullptr && !panels_.loss.let_step_go(*frame.cursor))
    frame.cursor->images.clear();
  if (key.key == GLFW_KEY_SPACE) send_start_or_pause(frame);
  if (key.key == GLFW_KEY_RIGHT && frame.snapshot.state == training::TrainerState::paused) {
    frame.send(training::StepOnce{});
  }
  if (key.letter == 'r') frame.send(training::Reset{});
  if (key.letter == 'l') dock_.toggle_large();
  if (key.letter == 'e') dock_.show("runs");
  panels_.loss.handle_key(frame, key.letter, panels_.plot);
}

void MainView::open_pictures(const Frame& frame, const std::vector<std::filesystem::path>& files) {
  const std::string refusal =
      !frame.snapshot.can.look_inside
          ? why_no_look(frame.snapshot, "this window shows a run and has no network for images of your own")
      : frame.snapshot.classifies
          ? "this network classifies: images of your own are for networks that reconstruct them"
          : panels_.images.open_files(files);
  if (!refusal.empty()) tell(refusal, training::LogLevel::warning);
}

// Paths, or addresses as file managers copy them.
void MainView::paste(const Frame& frame) {
  const char* const text = ImGui::GetClipboardText();
  const auto files = paths_in(text == nullptr ? "" : text);
  if (files.empty()) return tell("the clipboard holds no paths of pictures", training::LogLevel::info);
  take_paths(frame, files);
}

void MainView::note_taken(const training::Snapshot& snapshot) {
  undo_.settle(snapshot);
  if (!snapshot.network || snapshot.network == network_) return;
  network_ = snapshot.network;
  if (panels_.judging.model() != *network_) panels_.follow(*network_);
}

void MainView::draw_viewed_run(const Frame& frame) {
  const auto pinned = frame.cursor != nullptr ? panels_.loss.pinned_step(*frame.cursor) : std::nullopt;
  draw_view_strip(frame, pinned);
  if (const auto look = pinned_checkpoint_.follow(frame.snapshot, pinned)) frame.send(*look);
}

/// A step that is pinned no longer is computed no longer.
void MainView::let_aside_go(const Frame& frame) const {
  if (frame.cursor == nullptr || !frame.cursor->aside) return;
  Cursor& cursor = *frame.cursor;
  if (cursor.step == cursor.aside || panels_.loss.pinned_step(cursor) == cursor.aside) return;
  cursor.aside.reset();
  frame.send(training::LookAside{});
}

void MainView::draw(const Frame& frame, WindowFacts facts, const std::string& banner) {
  // One window has one of the two: it views a run, or it may go on with a training.
  const float offer = unsaved_row_.height(frame);
  const float challenge = offer > 0 ? 0 : challenge_.height(frame);
  const float strip = std::max({offer, challenge, view_strip_height(frame)});
  const Layout layout = arrange(ImGui::GetIO().DisplaySize, frame.scale, ImGui::GetFrameHeight(), strip);
  place_next_window(layout.toolbar);
  const ToolbarRequests asked = toolbar_.draw(frame);
  if (asked.help) help_open_ = !help_open_;
  if (asked.menu) window_menu_.open();
  if (strip > 0) place_next_window(layout.strip);
  if (offer > 0 && unsaved_row_.draw(frame)) go_on_ = unsaved_.front();
  if (challenge > 0) {
    if (const char* const panel = challenge_.draw(frame)) dock_.show(panel);
  } else if (offer == 0) {
    draw_viewed_run(frame);
  }
  panels_.loss.update(frame, panels_.plot);
  if (panels_.loss.take_runs_request()) dock_.show("runs");
  if (const auto message = panels_.loss.take_message()) tell(message->text, message->level);
  if (const auto message = panels_.runs.take_message()) tell(*message, training::LogLevel::error);
  if (auto run = panels_.runs.take_go_on()) go_on_ = std::move(run);
  if (const auto message = panels_.own_kernels.take_message()) tell(*message, training::LogLevel::error);
  if (const auto message = panels_.images.take_message()) tell(*message, training::LogLevel::info);
  if (const std::string left_out = panels_.images.check_rows(frame); !left_out.empty()) {
    tell(left_out, training::LogLevel::warning);
    undo_.start_from(view_choices());
  }
  panels_.laboratory.update(frame);
  panels_.judging.update(frame);
  panels_.mapping.update(frame);
  start_.wait(!banner.empty());
  if (start_.is_open()) {
    draw_start(frame, layout.panels);
  } else {
    dock_.draw(frame, panels_, layout.panels);
  }
  if (const auto op = panels_.kernels.take_new_kernel()) make_kernel(frame, op);
  follow_start(frame);
  place_next_window(layout.status);
  facts.image_path = !sees_network(frame.snapshot) && panels_.images.has_images()
                         ? "images from the run folder"
                     : frame.snapshot.classifies ? said_of_data(frame, "images from host memory")
                                                 : panels_.images.path_text();
  status_.draw(frame, facts);
  // Beside the notices, above the settings that made it diverge.
  const Area corner = dock_.area_of("training").value_or(Area{0, layout.status.y, layout.panels.right(), 0});
  divergence_.draw(frame, ImVec2(corner.right(), corner.y - 2 * frame.scale));
  if (notices_.draw(frame)) {
    trace_event("notice", fmt::format("\"text\":{}", json_string(notices_.text())));
  }
  watch_view();
  let_aside_go(frame);
  draw_help(frame, &help_open_);
  draw_palette(frame);
  draw_window_menu(frame);
  draw_tour_stop(frame, layout.toolbar);
  if (!banner.empty()) draw_banner(frame, banner);
  cut_text_tip(frame);
  trace_changes(frame);
}

void MainView::trace_changes(const Frame& frame) {
  if (!trace_enabled()) return;
  const auto& snapshot = frame.snapshot;
  const std::string state = fmt::format("\"state\":{},\"generation\":{},\"viewing\":{}",
                                        json_string(training::to_string(snapshot.state)), snapshot.generation,
                                        json_string(snapshot.can.why_not));
  if (state != traced_state_) {
    traced_state_ = state;
    trace_event("state", fmt::format("{},\"step\":{}", state, snapshot.step));
  }
  const std::string images = fmt::format("\"path\":{},\"image_bytes_to_host\":{},\"step\":{}",
                                         json_string(panels_.images.path_name()),
                                         panels_.images.image_bytes_to_host(), panels_.images.shown_step());
  if (images != traced_images_) {
    traced_images_ = images;
    trace_event("images", images);
  }
  trace_laboratory(frame);
}

// What tests wait for: how far the laboratory is, the newest determinism report, the rungs of the ladder.
void MainView::trace_laboratory(const Frame& frame) {
  const auto& state = panels_.laboratory.state();
  const auto changed = [](std::string& before, const char* event, const std::string& fields) {
    if (fields == before) return;
    before = fields;
    trace_event(event, fields);
  };
  changed(traced_laboratory_, "laboratory",
          fmt::format("\"job\":{},\"bench\":{},\"advice\":{},\"verify\":{},\"baseline\":{},\"cancelled\":{},"
                      "\"failure\":{}",
                      static_cast<int>(state.running), state.bench.size(), state.advice.size(),
                      state.verify.size(), state.baseline_images_per_second > 0, state.cancelled,
                      json_string(state.failure)));
  if (const auto& report = frame.snapshot.determinism) {
    changed(traced_determinism_, "determinism",
            fmt::format("\"id\":{},\"step\":{},\"tensors\":{},\"different\":{}", report->id, report->step,
                        report->tensors.size(), tensors_that_differ(*report)));
  }
  changed(traced_ladder_, "ladder", fmt::format("\"entries\":{}", frame.snapshot.ladder->size()));
}

bool MainView::has_shown_all(const training::Snapshot& snapshot, bool images_expected) const {
  const bool timed = std::any_of(snapshot.timings.begin(), snapshot.timings.end(),
                                 [](const training::OpTiming& timing) { return timing.samples > 0; });
  const bool images = snapshot.classifies ? panels_.predictions.has_images() : panels_.images.has_images();
  return timed && loss_points() > 0 && (!images_expected || images);
}

void MainView::tell(std::string text, training::LogLevel level, std::string details) {
  text = files::sayable(text);
  status_.log(level, text);
  trace_event("notice", fmt::format("\"text\":{}", json_string(text)));
  notices_.show(std::move(text), level, std::move(details));
}

void MainView::shutdown() {
  panels_.shutdown();
  start_.shutdown();
}

Settings MainView::settings() const {
  Settings now = settings_;
  now.plot = panels_.plot;
  now.docking = dock_.docking;
  now.images = panels_.images.remembered();
  return now;
}

}  // namespace warpscope::ui
