// warpscope infer: inference only, its answers and how long each part of it takes.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/options.h"
#include "app/ranks.h"
#include "app/run_folders.h"
#include "app/table.h"
#include "app/trained_source.h"
#include "gpu/core/error.h"
#include "gpu/core/phases.h"
#include "gpu/data/picture.h"
#include "gpu/data/requirements.h"
#include "gpu/export/export.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"
#include "gpu/inference/ranks.h"
#include "gpu/inference/report.h"
#include "gpu/plan/model_figures.h"
#include "gpu/runs/inference_figures.h"
#include "gpu/settings/setting.h"

namespace warpscope::app {
namespace {

struct InferArguments {
  TrainedArguments trained;  ///< `data` may be pictures too
  RankArguments ranks;
  int batch = 0;          ///< 0: that of a training
  bool mirrored = false;  ///< also by mirror images
  int shift = 0;          ///< also by each image shifted to four corners by so many pixels; 0: not
  std::string pace;       ///< of kRungs; "": by the batch
  bool ladder = false;    ///< all of these
  bool keep = false;      ///< the figures, in the run's folder
  std::string select;     ///< variants, as plan::apply() takes them
  std::string out;        ///< answers: file, "-" for standard output instead of the text, "" for none
  std::string format;     ///< csv, json; "" for what the file's name ends with
  std::string json;       ///< figures: file, "-" as above, "" for none
};

using inference::DividedSource;
using inference::ImageSource;
using inference::Latency;
using inference::Outcome;

std::unique_ptr<DividedSource> images_of(const InferArguments& a, const TrainedSource& source) {
  const training::TrainingSettings& settings = source.network.settings;
  const models::Model& model = settings.model;
  const bool of_run = a.trained.data.empty();
  std::string notice;
  auto images = inference::open_images(of_run ? settings.data : a.trained.data, data::requirements_of(model),
                                       source.network.classes, notice,
                                       of_run ? source.network.data : data::KnownData{});
  if (!notice.empty()) files::warn(notice);
  return images;
}

inference::Subject subject_of(const TrainedSource& source, const ImageSource& images) {
  return {source.network.weights.string(),
          source.network.settings.model.name,
          images.title(),
          source.device->info().name,
          std::string(core::to_string(source.selection.precision)),
          source.network.classes.empty() ? images.classes() : source.network.classes};
}

/// A way to make batches, from the least latency to the most images per second.
struct Rung {
  std::string_view name;
  inference::Pace pace;
  bool one_image;  ///< a batch is one image
};
constexpr std::array kRungs{Rung{"synchronous", inference::Pace::one_by_one, true},
                            Rung{"batched", inference::Pace::one_by_one, false},
                            Rung{"asynchronous", inference::Pace::overlapped, false}};

/// The one that is asked for. Without --pace: in batches of one image the latency of each counts, else that there are
/// many.
const Rung& rung_of(const InferArguments& a) {
  if (a.pace.empty()) return a.batch == 1 ? kRungs.front() : kRungs.back();
  const auto found = std::ranges::find(kRungs, std::string_view(a.pace), &Rung::name);
  if (found == kRungs.end()) {
    throw core::BadInput(
        fmt::format("there is no --pace '{}'; valid: synchronous, batched, asynchronous", a.pace));
  }
  if (found->one_image && a.batch > 1)
    throw core::BadInput(fmt::format("--pace synchronous has batches of 1, not of {}", a.batch));
  return *found;
}

/// What is asked, of this rank or of all.
struct Asked {
  const TrainedSource& source;
  DividedSource& images;
  plan::ViewSettings views;
  int batch = 1;
  inference::Pace pace = inference::Pace::overlapped;
};

Outcome infer_by_one(const Asked& asked, const inference::Inference::GoOn& go_on) {
  const TrainedSource& source = asked.source;
  inference::Inference network(source.network.settings.model, source.network.parameters, source.selection,
                               asked.batch, source.device, *source.stream, asked.views);
  return network.run(asked.images, go_on, asked.pace);
}

/// This process, or all ranks, as often as they are asked.
class Askers {
 public:
  explicit Askers(const MetRanks& met) : met_(met) {
    if (met.meeting) lead_.emplace(*met.meeting);
  }

  int size() const { return met_.meeting ? met_.meeting->place().size : 1; }
  Outcome infer(const Asked& asked, const inference::Inference::GoOn& go_on) {
    return lead_ ? infer_by_all(asked, go_on) : infer_by_one(asked, go_on);
  }

 private:
  Outcome infer_by_all(const Asked& asked, const inference::Inference::GoOn& go_on);

  const MetRanks& met_;
  std::optional<inference::Lead> lead_;
};

Outcome Askers::infer_by_all(const Asked& asked, const inference::Inference::GoOn& go_on) {
  const TrainedSource& source = asked.source;
  const auto ranks = static_cast<std::size_t>(size());
  inference::Question question{
      source.network.settings.model, source.selection,       asked.views, asked.batch, asked.pace,
      asked.images.option(),         source.network.classes, met_.devices};
  question.devices.resize(ranks, source.device->info().id());
  const InterruptStop stop;
  return lead_->ask(question, source.network.parameters, source.device, *source.stream, asked.images, go_on,
                    stop.token());
}

/// `most`: seconds after which it ends.
Outcome infer_all(const Asked& asked, Askers& askers, double most = std::numeric_limits<double>::infinity()) {
  const std::atomic<bool>& interrupted = catch_interrupts();
  ProgressLine line;
  const std::int64_t own = asked.images.count() / askers.size();
  const auto total = static_cast<int>(std::min<std::int64_t>(own, std::numeric_limits<int>::max()));
  const auto begin = core::Clock::now();
  const auto go_on = [&](std::int64_t answers) {
    line.show(static_cast<int>(answers), total, "inference");
    return !interrupted && core::seconds_since(begin) < most;
  };
  return askers.infer(asked, go_on);
}

std::string latencies_of(const Outcome& found) {
  Table table({{"microseconds of a batch", Align::left}, {"median"}, {"99 %"}});
  const auto add = [&](const std::string& part, const Latency& time) {
    table.add({part, figure(time.median), figure(time.p99)});
  };
  add("reading and decoding", found.read);
  add("to the device", found.to_device);
  const std::size_t passes = plan::views_of(found.views).size();
  add(passes > 1 ? fmt::format("network, {} passes", passes) : "network", found.network);
  for (const inference::LayerLatency& layer : found.layers) {
    if (layer.inside.empty()) {
      add("  " + layer.layer, layer.time);
    } else {
      table.add({"  " + layer.layer, "in " + layer.inside}, Tone::dim);
    }
  }
  add("back", found.back);
  add("total", found.total);
  return table.text();
}

/// What is looked at beside each image itself.
std::string in_words(const plan::ViewSettings& views) {
  if (!views.several()) return "";
  if (views.shift == 0) return "each with its mirror image, ";
  return fmt::format("each also shifted to four corners by {}{}, ", files::counted(views.shift, "pixel"),
                     views.mirrored ? " and all five mirrored" : "");
}

void print_ranks(const Outcome& found, const char* thing) {
  for (std::size_t rank = 0; rank < found.ranks.size(); ++rank) {
    const inference::RankShare& share = found.ranks[rank];
    files::print("{:<12} {}, {}, {}/s\n", rank == 0 ? "ranks" : "", share.device,
                 files::counted(share.images, thing), figure(share.images_per_second()));
  }
}

/// Where the time of each rank went.
void print_times(const Outcome& found) {
  constexpr std::size_t kMostRanks = 8;  // that stand beside each other on a line; --json has all
  if (found.ranks.empty()) return;
  const std::size_t ranks = std::min(found.ranks.size(), kMostRanks);
  std::vector<Column> columns{{"milliseconds of a rank", Align::left}};
  for (std::size_t rank = 0; rank < ranks; ++rank) columns.push_back({fmt::format("rank {}", rank)});
  Table table(columns);
  const auto add = [&](std::string name, const auto& of) {
    std::vector<std::string> cells{std::move(name)};
    for (std::size_t rank = 0; rank < ranks; ++rank) cells.push_back(figure(of(found.ranks[rank])));
    table.add(std::move(cells));
  };
  for (const inference::RankPart& part : inference::kRankParts) {
    add(std::string(part.name), [&](const inference::RankShare& rank) {
      return inference::kMillisecondsPerSecond * (rank.times.*part.time);
    });
    if (part.time != &inference::RankTimes::network) continue;
    for (std::size_t i = 0; i < found.layers.size(); ++i) {
      if (!found.layers[i].inside.empty()) continue;
      add(fmt::format("  {}", found.layers[i].layer),
          [&](const inference::RankShare& rank) { return rank.layer_milliseconds(i); });
    }
  }
  files::print("\n");
  files::put(table.text());
}

void print(const inference::Subject& subject, const Outcome& found, bool of_texts) {
  const char* const things = of_texts ? "texts" : "images";
  files::print("network      {}, {}\n", subject.model, subject.weights);
  files::print("{:<12} {} of {}, {}in {} of {}\n", things, found.answers.size(), subject.data,
               in_words(found.views), files::counted(found.batches, "batch", "batches"), found.batch);
  files::print("device       {}, {}\n", subject.device, subject.precision);
  if (found.accuracy) files::print("accuracy     {:.2f} %\n", 100 * *found.accuracy);
  if (found.mse) files::print("MSE          {:.6g}, PSNR {:.2f} dB\n", *found.mse, *found.psnr);
  files::print("{:<12} {} over all, {} on the device{}, {} by the network only\n",
               fmt::format("{}/s", things), figure(found.images_per_second()),
               figure(found.device_images_per_second()), found.ranks.empty() ? "" : "s",
               figure(found.network_images_per_second()));
  print_ranks(found, of_texts ? "text" : "image");
  files::print("\n");
  files::put(latencies_of(found));
  print_times(found);
}

/// On standard error, what did not become an answer.
void print_refusals(const Outcome& found, const ImageSource& images) {
  constexpr std::size_t kMostSentences = 20;
  const std::size_t told = std::min(found.refused.size(), kMostSentences);
  for (std::size_t i = 0; i < told; ++i) files::warn(found.refused[i]);
  if (told < found.refused.size()) {
    files::warn(
        fmt::format("{} more cannot be read; --json FILE names all of them", found.refused.size() - told));
  }
  if (found.turned > 0) files::warn(data::tell_turned(found.turned));
  if (found.not_finite > 0) {
    const bool one = found.not_finite == 1;
    files::warn(
        fmt::format("{} of {} answers {} not finite (NaN or infinite) and count{} as none; check the "
                    "weights, or choose another precision",
                    found.not_finite, found.answers.size(), one ? "is" : "are", one ? "s" : ""));
  }
  if (found.interrupted) {
    files::warn(fmt::format("interrupted after {} of {}", found.answers.size(),
                            files::counted(static_cast<std::int64_t>(images.count()), "image")));
  }
}

/// The exit code: 1 where an image has no answer.
int tell(const InferArguments& a, const inference::Subject& subject, const Outcome& found,
         const ImageSource& images, bool of_texts) {
  print_refusals(found, images);
  if (a.out != "-" && a.json != "-") print(subject, found, of_texts);
  if (!a.out.empty()) {
    write_output(a.out, inference::text_of(subject, found, inference::row_format(a.format, a.out)));
  }
  if (!a.json.empty()) write_output(a.json, runs::json_text(inference::figures_of(subject, found)));
  if (a.keep)
    runs::save_inference(find_run(a.trained.source, kRunsFolder), inference::figures_of(subject, found));
  return found.interrupted || !found.refused.empty() || found.not_finite > 0 ? 1 : 0;
}

/// Every rung, one after the other, for so many seconds at most; the exit code.
int climb(const InferArguments& a, const Asked& top, Askers& askers) {
  constexpr double kMostSeconds = 10;
  Table table(
      {{"pace", Align::left}, {"batch"}, {"answers/s"}, {"times the first"}, {"us a batch"}, {"99 %"}});
  nlohmann::json rows = nlohmann::json::array();
  double first = 0;
  for (const Rung& rung : kRungs) {
    Asked asked = top;
    asked.batch = rung.one_image ? 1 : top.batch;
    asked.pace = rung.pace;
    asked.images.take_part(0, asked.images.count());
    const Outcome found = infer_all(asked, askers, kMostSeconds);
    if (catch_interrupts()) return 1;
    const double rate = found.images_per_second();
    if (first == 0) first = rate;
    table.add({std::string(rung.name), fmt::format("{}", asked.batch), figure(rate),
               fmt::format("{:.2f}", first > 0 ? rate / first : 0), figure(found.total.median),
               figure(found.total.p99)});
    nlohmann::json row = inference::figures_of(subject_of(asked.source, asked.images), found);
    row["pace"] = rung.name;
    rows.push_back(std::move(row));
  }
  if (a.json != "-") files::put(table.text());
  if (!a.json.empty()) write_output(a.json, runs::json_text({{"ladder", std::move(rows)}}));
  return 0;
}

void check_outputs(const InferArguments& a) {
  if (a.ladder && a.keep) throw core::BadInput("--ladder keeps no figures; leave out --keep, or take --json");
  if (a.ladder && !a.out.empty()) throw core::BadInput("--ladder writes no answers; leave out --out");
  if (a.ladder && (!a.pace.empty() || a.batch == 1))
    throw core::BadInput("--ladder tries every pace; leave out --pace, and --batch 1");
  if (a.out.empty() && !a.format.empty()) throw core::BadInput("--format is that of --out, which is missing");
  if (!a.out.empty()) inference::row_format(a.format, a.out);
  if (a.out == "-" && a.json == "-")
    throw core::BadInput("--out and --json both go to standard output; choose one");
  check_output_file("--out", a.out);
  check_output_file("--json", a.json);
}

int ask(const InferArguments& a) {
  check_outputs(a);
  // Only rank 0 of ranks that people start must say which.
  if (a.trained.source.empty() && a.ranks.rank < 1)
    throw core::BadInput("source is required; warpscope infer --help lists what is valid");
  const MetRanks met = meet_ranks(a.ranks, a.trained.device, "infer");
  if (!met.leads()) return follow_as(met, inference::follow);
  TrainedArguments trained = a.trained;
  trained.device = met.device;
  TrainedSource source = open_network(trained);
  if (a.keep && !source.network.of_run)
    throw core::BadInput(fmt::format("--keep is for a run, and {} is a file of weights", a.trained.source));
  if (!source.network.not_finite.empty()) files::warn(source.network.not_finite);
  plan::apply(source.selection, a.select, source.device->info());
  const auto images = images_of(a, source);
  const models::Model& model = source.network.settings.model;
  const int batch = a.batch > 0 ? a.batch : plan::standard_batch(source.device->info(), model);
  const Rung& rung = rung_of(a);
  const auto most = static_cast<int>(std::min<std::int64_t>(batch, images->count()));
  const Asked asked{source, *images, {a.mirrored, a.shift}, rung.one_image ? 1 : most, rung.pace};
  Askers askers(met);
  if (a.ladder) return climb(a, asked, askers);
  const Outcome found = infer_all(asked, askers);
  return tell(a, subject_of(source, *images), found, *images, !model.alphabet.empty());
}

}  // namespace

Run infer(CLI::App& app) {
  const auto a = std::make_shared<InferArguments>();
  add_network_options(app, a->trained);
  app.get_option("source")->required(false);
  add_rank_options(app, a->ranks, "the images");
  app.add_option(
         "data,--data", a->trained.data,
         "Folder of pictures, one of them, a file of texts, or a data set, whose test images are taken "
         "(default: the run's)")
      ->type_name("DATA");
  whole_numbers(
      *app.add_option("--batch", a->batch, "Images at once; 1 is the least latency (default: a training's)")
           ->type_name("N"),
      1, 65536);
  app.add_flag("--test-mirrored", a->mirrored,
               "A network that classifies answers by each image and its mirror image, left to right, with "
               "--test-shift by all five views and their mirror images");
  whole_numbers(
      *app.add_option(
              "--test-shift", a->shift,
              "A network that classifies answers by each image and by it shifted by N pixels each way to the "
              "four corners, reflected at the borders, with --test-mirrored by their mirror images too "
              "(default: 0, off)")
           ->type_name("N"),
      0, static_cast<int>(training::setting("test_shift").range.most));
  app.add_option(
         "--pace", a->pace,
         "synchronous: an image after the other; batched: a batch after the other; asynchronous: the next "
         "batch is read while the device works (default: asynchronous, with --batch 1 synchronous)")
      ->type_name("PACE");
  app.add_flag("--ladder", a->ladder, "Tries all three for ten seconds at most and tells how fast each is");
  app.add_flag(
      "--keep", a->keep,
      "Keeps the figures in the folder of the run, as inference.json, which the window's panel Ranks shows");
  app.add_option("--select", a->select,
                 "Variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores")
      ->type_name("OP=VARIANT,...");
  app.add_option("--out", a->out, "Write the answers, a row an image; - for standard output")
      ->type_name("FILE");
  app.add_option("--format", a->format, "csv or json (default: as the file's name ends)");
  app.add_option("--json", a->json, "Write the figures as JSON; - for standard output")->type_name("FILE");
  return [a] { return ask(*a); };
}

}  // namespace warpscope::app
