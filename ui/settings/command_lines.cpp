#include "ui/settings/command_lines.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/plan/presets.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

std::string pictures_text(const training::LatentRequest& latents) {
  return latents.pictures.empty()
             ? "the latents"
             : fmt::format("the latents and {} decoded from them", latents.pictures.size());
}

std::string comparison_text(const training::ComparisonRequest& comparison) {
  const std::size_t count = comparison.reconstructors.size();
  const auto images =
      comparison.own ? std::string("a person's own images") : files::counted(comparison.count, "image");
  return fmt::format("{} made by {}", images,
                     files::counted(static_cast<std::int64_t>(count), "other network"));
}

std::string observed_text(const training::ObservationRequest& request) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (request.inspected_image) add(fmt::format("the layers for test image {}", *request.inspected_image + 1));
  if (request.distributions) add("the distributions");
  if (request.latents.map) add(pictures_text(request.latents));
  if (request.comparison) add(comparison_text(*request.comparison));
  if (request.likely_comparison) add("networks that may be compared next");
  if (request.weights != 0) add("a copy of the weights");
  if (request.feature_probe) add("what the features are worth");
  if (request.augmented) add("the augmented images");
  if (request.typed_text) add("the classes of a typed text");
  if (request.held_out_texts) add("the characters of held-out texts");
  if (request.results) add("pictures and predictions");
  return text;
}

std::string capitalized(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

// An overload a command: a new one does not compile before it has its line.
class Line {
 public:
  Line(const training::Snapshot& snapshot, const std::optional<Change>& change)
      : snapshot_(snapshot), change_(change) {}

  std::string operator()(const training::Pause&) const { return "Pause"; }
  std::string operator()(const training::Resume&) const { return "Go on"; }
  std::string operator()(const training::StepOnce&) const { return "One step"; }
  std::string operator()(const training::Reset&) const { return "Reset: the first weights, step 0"; }
  std::string operator()(const training::Finish&) const { return "Finish: save and end, as Ctrl-C does"; }
  std::string operator()(const training::SaveCheckpoint&) const { return "Save a checkpoint"; }
  std::string operator()(const training::SaveSettings&) const {
    return "Save the settings as a file for --config";
  }
  std::string operator()(const training::Record& record) const {
    return record.on ? "Record the training from here on, with its curve so far"
                     : "Stop recording; the training goes on";
  }
  std::string operator()(const training::CancelFindRate&) const {
    return "End the search for a learning rate";
  }
  std::string operator()(const training::CheckDeterminism&) const {
    return "Run the next step twice and compare the bits";
  }
  std::string operator()(const training::MeasureLinks&) const { return "Measure the links between ranks"; }
  std::string operator()(const training::FindRate& find) const {
    return fmt::format("Find a learning rate: {} steps from {:g} to {:g}",
                       with_thousands(find.settings.steps), find.settings.low, find.settings.high);
  }
  std::string operator()(const training::RollBack&) const {
    return fmt::format("Back to earlier weights, with --lr {:g}", snapshot_.divergence.back_rate);
  }
  std::string operator()(const training::ReturnTo&) const {
    return change_ ? "Back to the training before: " + describe(*change_) : std::string("Back");
  }
  std::string operator()(const training::RewindTo& back) const {
    return "Rewind to step " + with_thousands(back.step);
  }
  std::string operator()(const training::TakeBack&) const { return "Back to before the last change"; }
  std::string operator()(const training::LookAt& look) const {
    return look.step == 0 ? std::string("Look at the newest checkpoint")
                          : "Look at the checkpoint at step " + with_thousands(look.step);
  }
  std::string operator()(const training::LookAside& look) const {
    return look.step == 0 ? std::string("Let the step go that was computed aside")
                          : fmt::format("Compute step {} aside", with_thousands(look.step));
  }
  std::string operator()(const training::SetRanks& set) const {
    return set.ranks == 1 ? std::string("Go on with one rank") : fmt::format("--ranks {}", set.ranks);
  }
  std::string operator()(const training::Leave&) const { return "The window closes"; }
  std::string operator()(const training::CopyWeights&) const { return "Copy the weights for a job"; }
  std::string operator()(const training::SetDisturbed& set) const {
    return set.disturbed ? "Times are not compared: something else is being measured"
                         : "Times are compared again";
  }
  std::string operator()(const training::LoadKernel& load) const {
    return "--kernel " + shell_word(load.file);
  }
  std::string operator()(const training::WatchKernels& watch) const {
    return fmt::format("{} kernels in {}", watch.on ? "Watch for" : "Watch no longer for",
                       shell_word(watch.folder));
  }
  std::string operator()(const training::ApplyWhenProved& apply) const {
    return fmt::format("Each version of {} that is proved {}", shell_word(apply.file),
                       apply.on ? "runs from the next step on" : "waits until it is chosen");
  }
  std::string operator()(const training::UseKernel& use) const {
    return use.version == 0
               ? "Use no longer " + shell_word(use.file)
               : fmt::format("Version {} of {} from the next step on", use.version, shell_word(use.file));
  }
  std::string operator()(const training::ForgetKernel& forget) const {
    return "Forget " + shell_word(forget.file);
  }
  std::string operator()(const training::Save& save) const { return "--save " + shell_word(save.file); }
  std::string operator()(const training::Observe& observe) const {
    const std::string what = observed_text(observe.request);
    return what.empty() ? "Stop looking into the training" : "Look at " + what;
  }
  std::string operator()(const training::Select& select) const {
    const auto* const before = change_ ? std::get_if<plan::Selection>(&change_->before) : nullptr;
    const std::string preset =
        before == nullptr ? "" : plan::chosen_preset(*before, select.selection, snapshot_.device);
    return preset.empty() ? options("variants and precision") : fmt::format("--select preset={}", preset);
  }
  std::string operator()(const training::Change&) const { return options("settings"); }
  std::string operator()(const training::SetNetwork&) const {
    if (!change_) return "Network as before";
    const std::string text = describe(*change_);
    return capitalized(text.empty() ? "another network" : text);
  }

 private:
  std::string options(const char* what) const {
    const std::string text = change_ ? option_text(*change_) : std::string();
    return text.empty() ? capitalized(fmt::format("{} as before", what)) : text;
  }

  const training::Snapshot& snapshot_;
  const std::optional<Change>& change_;
};

}  // namespace

std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter >= 0x80 ||
           std::string_view("_-./:=,+@%").find(letter) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::string command_line(const training::Command& command, const training::Snapshot& snapshot,
                         const std::optional<Change>& change) {
  return std::visit(Line(snapshot, change), command);
}

}  // namespace warpscope::ui
