#pragma once
// Everything the window shows, panel by panel.

#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/docking/dock_view.h"
#include "ui/frame/frame.h"
#include "ui/input/keys.h"
#include "ui/jobs/background.h"
#include "ui/palette/palette_box.h"
#include "ui/panels/curves/divergence_box.h"
#include "ui/panels/notices.h"
#include "ui/panels/panels.h"
#include "ui/panels/runs/pinned_checkpoint.h"
#include "ui/panels/runs/unsaved_row.h"
#include "ui/panels/start/challenge_strip.h"
#include "ui/panels/start/start_page.h"
#include "ui/panels/status_bar.h"
#include "ui/panels/toolbar.h"
#include "ui/panels/window_menu.h"
#include "ui/settings/settings.h"
#include "ui/settings/undo.h"
#include "ui/text/tour.h"

namespace warpscope::ui {

/// What a person asked of the window itself.
struct WindowRequests {
  bool quit = false;
  bool screenshot = false;
};

class MainView {
 public:
  /// `model` is what the laboratory measures: the one that is trained.
  MainView(const Settings& settings, const models::Model& model, Trainings& trainings);

  /// What the window's own training has told.
  void log(const std::vector<training::FeedItem>& items);
  /// Takes the newest images; before draw(), with the OpenGL context current. `prepared`: prepare_images() follows the
  /// frame.
  void update_images(const std::shared_ptr<training::ImageExchange>& images, const Frame& frame,
                     bool prepared);
  /// After a frame: makes colours of new images for the next. True if there were any.
  bool prepare_images() { return panels_.images.prepare(); }
  /// Keys that no text field wants; to be called between ImGui's NewFrame and draw().
  WindowRequests handle_keys(const Frame& frame, const std::vector<KeyPress>& keys);
  /// Files and folders that were dropped on the window or pasted: kernels for the training, data, a run, weights or a
  /// network for the start page, else pictures to show.
  void take_paths(const Frame& frame, const std::vector<std::filesystem::path>& paths);
  /// What the start page and the panel of own kernels ask of the program.
  void serve(const StartServices& start, const KernelServices& kernels) {
    start_.desk().serve(start);
    panels_.own_kernels.desk().serve(kernels);
  }
  /// `first`: the training waits for it.
  void open_start(const training::Snapshot& snapshot, bool first) { start_.open(snapshot, first); }
  /// The new training that somebody has set up since the last call.
  std::optional<StartChoices> take_start() { return start_.take_start(); }
  /// A command on its way to the trainer, for undo and the log, which shows it as a command line.
  std::uint64_t note_sent(const training::Command& command, const training::Snapshot& snapshot);
  /// What the trainer has made of those before; before anything is drawn of this snapshot, or of what is seen of its
  /// network.
  void note_taken(const training::Snapshot& snapshot);
  /// `banner` stands over everything ("Saving the run"); "" for none.
  void draw(const Frame& frame, WindowFacts facts, const std::string& banner);
  /// True once the snapshot's losses and times and, if there are any, images have been drawn.
  bool has_shown_all(const training::Snapshot& snapshot, bool images_expected) const;
  /// A message of the window's own, in the notice bar and in the log.
  void tell(std::string text, training::LogLevel level, std::string details = {});
  /// Offers to go on with the first of them, in a row of its own, and with all of them in the palette.
  void offer(std::vector<runs::UnsavedTraining> unsaved);
  /// The one that somebody has chosen since the last call.
  std::optional<runs::UnsavedTraining> take_go_on() { return std::exchange(go_on_, {}); }
  /// Begins the tour; called by itself only at a first start.
  void take_tour() { tour_.start(); }
  /// Frees what belongs to OpenGL and CUDA; before the context goes.
  void shutdown();

  /// The settings as they are now.
  Settings settings() const;
  /// How everything is to look from the next frame on.
  const Look& look() const { return settings_.look; }
  std::size_t loss_points() const { return panels_.trainings.own().history.steps(); }
  /// What is drawn of what is seen (Frame::seen): pictures that are still being made are not.
  training::Observations drawn_of(training::Observations seen) const {
    seen.inspection = panels_.network.shown();
    seen.comparison = panels_.images.compared();
    return seen;
  }
  /// Between frames, with the OpenGL context current: brings images that are on their way further. True if
  /// those, what is inside the network, the laboratory, tries on features, maps, what is read of earlier runs or the
  /// predictions have come further than was drawn.
  bool advance(const std::shared_ptr<training::ImageExchange>& images) {
    bool newer = panels_.images.advance(images);
    newer = panels_.network.advance() || newer;
    newer = panels_.ranks.advance() || newer;
    newer = start_.advance() || dropped_.ready() || newer;
    newer = panels_.own_kernels.advance() || newer;
    if (start_.is_open()) return newer;  // it stands in the place of the panels
    return newer || panels_.laboratory.has_update() || panels_.judging.has_update() ||
           (dock_.sees("latent") && panels_.mapping.has_update()) || panels_.loss.has_update() ||
           panels_.runs.has_update() || (dock_.sees("images") && panels_.predictions.waiting());
  }

 private:
  void press(const Frame& frame, const KeyPress& key, bool typing, WindowRequests& requests);
  void press_with_control(const Frame& frame, const KeyPress& key, bool typing, WindowRequests& requests);
  void paste(const Frame& frame);
  void draw_viewed_run(const Frame& frame);
  void open_pictures(const Frame& frame, const std::vector<std::filesystem::path>& files);
  // In main_view_start.cpp: the start page and what is dropped.
  void draw_start(const Frame& frame, const Area& area);
  void follow_start(const Frame& frame);
  void add_challenge_actions(const Frame& frame, ActionScene& scene);
  void look_at_dropped(const Frame& frame);
  void load_kernels(const Frame& frame, const std::vector<std::filesystem::path>& files);
  void make_kernel(const Frame& frame, std::optional<ops::Op> op);
  void add_kernel_actions(const Frame& frame, ActionScene& scene);
  void start_with(const Frame& frame, const std::string& setting, const std::string& text);
  // In main_view_actions.cpp: the palette, undo and redo.
  ViewChoices view_choices() const;
  void show(const ViewChoices& view);
  NetworkEditor* editor_to_change_back(const training::Snapshot& snapshot, bool redo);
  void change_back(const Frame& frame, bool redo, bool only_setting = false);
  void send_change_back(const Frame& frame, bool redo, bool only_setting);
  void follow_way_back(const Frame& frame);
  void tell_rewind(const Frame& frame);
  void only_set_back(const Frame& frame);
  void let_aside_go(const Frame& frame) const;
  void watch_view();
  ActionScene action_scene(const Frame& frame);
  void add_panel_actions(ActionScene& scene);
  void add_unsaved_actions(ActionScene& scene);
  void use_layout(const std::string& name);
  void save_layout(const std::string& name);
  void delete_layout(const std::string& name);
  void draw_palette(const Frame& frame);
  void draw_window_menu(const Frame& frame);
  void draw_tour_stop(const Frame& frame, const Area& toolbar);
  /// Begins the lesson on kernels for the training's device.
  void take_lesson(const Frame& frame);
  void trace_changes(const Frame& frame);
  void trace_laboratory(const Frame& frame);

  Settings settings_;
  std::shared_ptr<const models::Model> network_;  ///< that the panels show; nullptr: the one from the start
  Toolbar toolbar_;
  Panels panels_;
  DockView dock_;
  StatusBar status_;
  Notices notices_;
  DivergenceBox divergence_;
  PinnedCheckpoint pinned_checkpoint_;
  bool help_open_ = false;
  PaletteBox palette_;
  WindowMenu window_menu_;
  Tour tour_;
  const TourStop* toured_ = nullptr;  ///< the stop whose panel was brought to the front
  Undo undo_;
  bool undoing_ = false;  ///< what is sent is an undo or redo
  /// The training goes back to before a change, or has gone.
  struct WayBack {
    std::string change;          ///< in words
    std::uint64_t training = 0;  ///< that is left
    Changeable before = {};      ///< as it was before the change
    bool ran = false;            ///< it was training
  };
  WayBack way_back_;
  enum class Offer : std::uint8_t { stop, only_setting };
  Offer offered_ = Offer::stop;     ///< what the button of the notice does
  bool told_rewind_ = false;        ///< the notice tells how far steps are made again
  std::deque<bool> waiting_undos_;  ///< until it is there; true: a redo
  bool undid_edit_ = false;         ///< the last undo was one of the editor of the network
  std::uint64_t gesture_ = 0;       ///< counts the presses of the mouse
  WindowRequests asked_;            ///< by the palette, for the next frame
  std::vector<runs::UnsavedTraining> unsaved_;
  UnsavedRow unsaved_row_;
  std::optional<runs::UnsavedTraining> go_on_;
  StartPage start_;
  ChallengeStrip challenge_;
  Background<std::pair<std::filesystem::path, PathKind>> dropped_;
  std::string traced_state_, traced_images_, traced_laboratory_, traced_determinism_, traced_ladder_;
};

}  // namespace warpscope::ui
