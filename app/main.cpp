// warpscope: the command line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands.h"
#include "app/fetch/fetch.h"
#include "app/options.h"
#include "gpu/core/error.h"
#include "gpu/core/host_memory.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"

namespace {

using namespace warpscope;

/// What of the command line nothing takes, in the order in which it was typed.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& typed) {
  std::vector<std::string> left = app.remaining(true);
  std::string told =
      left.size() > 1 ? "these arguments were not expected:" : "this argument was not expected:";
  for (const std::string& argument : typed) {
    const auto found = std::find(left.begin(), left.end(), argument);
    if (found == left.end()) continue;
    left.erase(found);
    told += " " + files::sayable(argument);
  }
  for (const std::string& part : left) told += " " + files::sayable(part);  // as it was typed it was longer
  return told;
}

/// What CLI11 says of a bad command line, as one sentence that names the command's own help.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error,
                        const std::vector<std::string>& typed) {
  const bool surplus = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  std::string what = surplus ? unexpected(app, typed) : error.what();
  for (char& c : what) c = c == '\n' ? ' ' : c;
  // CLI11's messages about missing and surplus values, reworded.
  what = std::regex_replace(what, std::regex(": At Most 1 required but received (\\d+)"),
                            " stands there $1 times; give it once");
  what = std::regex_replace(what, std::regex(": At least (\\d+) required but received (\\d+)"),
                            " takes $1 values or more, not $2");
  what = std::regex_replace(what, std::regex(": 1 required \\S+ missing"), " needs a value");
  std::string command = "warpscope";
  for (const CLI::App* used : app.get_subcommands()) command += " " + used->get_name();
  return fmt::format("{}; {} --help lists what is valid", what, command);
}

/// Options before a command would set the window's, which the command does not read.
void refuse_options_before(const CLI::App& app, const CLI::App& command) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    throw core::BadInput(fmt::format("{} stands before the command; write it after: warpscope {} {} ...",
                                     option->get_name(), command.get_name(), option->get_name()));
  }
}

void add_verify_options(CLI::App& app, app::VerifyArguments& a) {
  app::add_choice_options(app, a.choices);
  app.add_option("--shapes", a.shapes, "Random shapes beside the chosen ones")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--seed", a.seed, "Seed of shapes and numbers")
      ->capture_default_str()
      ->check(app::refuse_negative);
  app.add_flag("!--no-libraries", a.libraries, "Leave out cuDNN and cuBLASLt");
  app.add_option("--json", a.json, "Write the result as JSON; - for standard output")->type_name("FILE");
}

void add_bench_options(CLI::App& app, app::BenchArguments& a) {
  app::add_choice_options(app, a.choices);
  app.add_option("--model", a.model, "A network's name, or a file that ends in .toml")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  app.add_option("--batch", a.batch, "Images a step (default: as train's)")->type_name("N");
  app.add_option("--optimizer", a.optimizer, "Rule by which whole steps change the weights")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--select", a.select,
                 "The choice of variants that whole steps of the others are timed against, as train takes it "
                 "(default: automatic)")
      ->type_name("OP=VARIANT,...");
  app.add_option("--samples", a.samples,
                 "Launches timed of each variant (default: 30) and steps of each selection (200), at most")
      ->type_name("N");
  app.add_option(
         "--shape", a.shapes,
         "Instead of the model's: NxHxWxC:KxRxS (convolutions; behind it :stride2, :dilationD, :valid), "
         "NxHxWxC:RxS (pooling), NxC:K (linear), NxHxWx1:C (one-hot), NxHxWx1:VxD (embeddings, V above 3), "
         "NxHxWxC (others)")
      ->type_name("SHAPE");
  // Read by hand: a flag bound to the option would turn "not given" into "no".
  app.add_flag_callback(
      "--steps", [&a] { a.steps = true; },
      "Time whole training steps too (default: if no op, variant or shape is chosen)");
  app.add_flag_callback(
      "--no-steps", [&a] { a.steps = false; }, "Do not");
  app.add_flag("!--no-variants", a.variants, "Time whole training steps only");
  app.add_option("--json", a.json, "Write the result as JSON; - for standard output")->type_name("FILE");
  app.add_option("--csv", a.csv, "Write the result as CSV; - for standard output")->type_name("FILE");
  app.add_option("--against", a.against, "Compare with an earlier --json file")->type_name("FILE");
}

void add_runs_options(CLI::App& app, app::RunsArguments& a) {
  app.add_option("folder", a.folder, "Folder that holds runs (default: runs)")->type_name("FOLDER");
  app.add_option("--sort", a.sort, "time, test_loss or speed")->capture_default_str();
  app.add_option("--diff", a.diff, "Show the settings in which these runs differ")
      ->type_name("RUN")
      ->expected(2, app::kMostRuns);
  app.add_option("--json", a.json, "Write the result as JSON; - for standard output")->type_name("FILE");
}

void add_export_options(CLI::App& app, app::ExportArguments& a) {
  app.add_option(
         "run", a.runs,
         "Folder of a run; several for svg, png and tensorboard; or, for svg, a file that bench --json wrote")
      ->type_name("RUN")
      ->required()
      ->expected(1, app::kMostRuns);
  app.add_option("--to", a.to, "csv, tensorboard, safetensors, svg, png, json or trace")
      ->type_name("FORMAT")
      ->required();
  app.add_option("--out", a.out, "File to write (- for standard output); for tensorboard a folder")
      ->type_name("PATH")
      ->required();
  app.add_option(
         "--series", a.series,
         "svg, png: what to draw (default: the losses); of a file of bench: variants (default) or step")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_option("--over", a.over, "svg, png: step, epoch or seconds (default: step)");
  app.add_flag("--log", a.logarithmic, "svg, png: logarithmic values");
  app.add_option("--title", a.title, "svg, png: title (default: the names of the runs)");
  app.add_option("--precision", a.precision, "svg of a file of bench: which (default: the first in it)");
  app.add_option("--checkpoint", a.checkpoint, "safetensors: best, last or a file (default: last)");
}

void add_models_options(CLI::App& app, app::ModelsArguments& a) {
  app.add_option(
         "model", a.models,
         "Built-in networks or FILE.toml (default: all that are built in); of one alone its file is printed, "
         "to start from")
      ->type_name("MODEL");
  app.add_flag("--layers", a.layers, "A table of the layers instead");
  app::whole_numbers(
      *app.add_option("--batch", a.batch, "Images a step, for the memory (default: the device's)")
           ->type_name("N"),
      1, 65536);
  app.add_option("--device", a.device, "Whose memory is told: auto, cpu or cuda:N")->capture_default_str();
  app.add_option("--precision", a.precision, "Arithmetic (default: the device's)");
  app.add_option("--json", a.json, "Write the result as JSON; - for standard output")->type_name("FILE");
}

void add_features_options(CLI::App& app, app::FeaturesArguments& a) {
  app::add_trained_options(app, a.trained);
  app.add_option("--split", a.split, "Images of train, test or all (train, then test)")
      ->capture_default_str();
  app.add_option("--rows", a.rows, "The first N images of each part (default: all)")
      ->check(app::refuse_not_positive);
  app.add_option("--out", a.out, "File to write")->type_name("FILE")->required();
  app.add_option("--format", a.format, "npy, csv, safetensors or libsvm (default: as the file's name ends)");
}

void add_infer_options(CLI::App& app, app::InferArguments& a) {
  app::add_network_options(app, a.trained);
  app.add_option(
         "data,--data", a.trained.data,
         "Folder of pictures, one of them, a file of texts, or a data set, whose test images are taken "
         "(default: the run's)")
      ->type_name("DATA");
  app::whole_numbers(
      *app.add_option("--batch", a.batch, "Images at once; 1 is the least latency (default: the device's)")
           ->type_name("N"),
      1, 65536);
  app.add_flag("--test-mirrored", a.mirrored,
               "A network that classifies answers by each image and its mirror image, left to right, with "
               "--test-shift by all five views and their mirror images");
  app::whole_numbers(
      *app.add_option(
              "--test-shift", a.shift,
              "A network that classifies answers by each image and by it shifted by N pixels each way to the "
              "four corners, reflected at the borders, with --test-mirrored by their mirror images too "
              "(default: 0, off)")
           ->type_name("N"),
      0, static_cast<int>(training::setting("test_shift").range.most));
  app.add_option("--select", a.select, "Variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores")
      ->type_name("OP=VARIANT,...");
  app.add_option("--out", a.out, "Write the answers, a row an image; - for standard output")
      ->type_name("FILE");
  app.add_option("--format", a.format, "csv or json (default: as the file's name ends)");
  app.add_option("--json", a.json, "Write the figures as JSON; - for standard output")->type_name("FILE");
}

void add_map_options(CLI::App& app, app::MapArguments& a) {
  app::add_trained_options(app, a.trained);
  std::vector<std::string> names;
  for (const auto& row : maps::map_table()) names.push_back(fmt::format("{} ({})", row.name, row.title));
  app.add_option("--method", a.method, fmt::format("{}", fmt::join(names, ", ")))->capture_default_str();
  app.add_option("--rows", a.rows, "The first N test images (default: 3000 on a GPU, 1000 on a CPU)")
      ->check(app::refuse_not_positive);
  app.add_option("--perplexity", a.options.tsne.perplexity, "tsne: effective number of neighbours")
      ->capture_default_str();
  app.add_option("--neighbours", a.options.umap.n_neighbors, "umap: neighbours of each image")
      ->capture_default_str();
  app.add_option("--min-dist", a.options.umap.min_dist, "umap: how close points may lie")
      ->capture_default_str();
  app.add_option("--seed", a.options.seed, "Seed of the random numbers")->capture_default_str();
  app.add_option("--out", a.out, "File to write")->type_name("FILE")->required();
  app.add_option("--format", a.format, "npy, csv, safetensors or libsvm (default: as the file's name ends)");
}

void add_classify_options(CLI::App& app, app::ClassifyArguments& a) {
  app::add_trained_options(app, a.trained);
  std::vector<std::string> names;
  for (const auto& row : classifiers::classifier_table())
    names.push_back(fmt::format("{} ({})", row.name, row.title));
  classifiers::ClassifierSettings& settings = a.request.settings;
  app.add_option("--classifier", a.request.classifier, fmt::format("{}", fmt::join(names, ", ")))
      ->capture_default_str();
  app.add_option("--C,-C", settings.c, "Weight of the errors (default: rbf 10, the others as suits them)")
      ->check(app::refuse_not_positive);
  app.add_option("--gamma", settings.gamma, "rbf: scale, auto or a number")->capture_default_str();
  app.add_option("--tolerance", settings.tolerance, "Tolerance of the stopping rule")
      ->capture_default_str()
      ->check(app::refuse_not_positive);
  app.add_option("--neighbours", settings.neighbours, "nearest: how many vote, 1 to 64")
      ->capture_default_str();
  app.add_option("--epochs", settings.epochs, "head: passes over the training rows")->capture_default_str();
  app.add_flag("--probabilities", settings.probabilities, "rbf: fit Platt's sigmoids too");
  app.add_option("--class-weights", settings.class_weights, "rbf: a factor of C for each class")
      ->type_name("W,...")
      ->delimiter(',');
  app.add_option("--memory-limit", settings.memory_limit, "rbf: most bytes of device memory")
      ->type_name("BYTES");
  app.add_flag("!--no-standardize", a.standardize, "Leave the columns as they are");
  app.add_flag("--training-accuracy", a.request.on_training_rows,
               "Judge it on the rows that it learned from too");
  app.add_option("--json", a.json, "Write the result as JSON; - for standard output")->type_name("FILE");
}

void add_window_options(CLI::App& app, app::WindowArguments& a) {
  app.add_option("--screenshot", a.screenshot, "Save a PNG of the window before leaving")->type_name("FILE");
  app.add_option("--exit-after-steps", a.exit_after_steps, "Leave the window after N steps")
      ->type_name("N")
      ->check(app::refuse_negative);
  app.add_option("--window-size", a.size, "Size of the window in pixels")->type_name("WxH");
  app.add_option("--draw", a.draw,
                 "Who draws the window: gpu (OpenGL), cpu, or auto: cpu on a virtual display, else gpu")
      ->type_name("auto|gpu|cpu")
      ->capture_default_str();
}

int run(int argc, char** argv) {
  CLI::App app{"Warpscope: watch a network train, kernel by kernel.\nWithout a command it opens the window.",
               "warpscope"};
  app.set_version_flag("--version", "warpscope " WARPSCOPE_VERSION);
  app.require_subcommand(0, 1);

  app::TrainingArguments window_arguments;
  app::WindowArguments window;
  app::add_training_options(app, window_arguments);
  add_window_options(app, window);

  app::TrainingArguments train_arguments;
  CLI::App* const train =
      app.add_subcommand("train", "Train without a window (one epoch if nothing says when to stop)");
  app::add_training_options(*train, train_arguments);
  std::string then;
  train
      ->add_option("--then", then,
                   "Then judge what the trained network makes of the images by this classifier (svm: rbf); "
                   "warpscope classify has more")
      ->type_name("CLASSIFIER");

  app::TrainingArguments config_arguments;
  CLI::App* const config =
      app.add_subcommand("config", "Print the settings of a training as a TOML file for --config");
  app::add_training_options(*config, config_arguments);
  bool markdown = false;
  config->add_flag("--markdown", markdown, "Print the table of all options instead (docs/options.md)");

  std::string data_set = "cifar10";
  std::string directory;
  CLI::App* const fetch = app.add_subcommand("fetch", "Download a data set");
  fetch->add_option("name", data_set, fmt::format("Data set: {}", fmt::join(fetch::names(), ", ")))
      ->capture_default_str();
  fetch->add_option("--data", directory, "Folder to unpack it into (default: the user's cache folder)");

  app::VerifyArguments verify_arguments;
  CLI::App* const verify = app.add_subcommand("verify", "Prove the variants against the reference");
  add_verify_options(*verify, verify_arguments);

  app::BenchArguments bench_arguments;
  CLI::App* const bench = app.add_subcommand("bench", "Time the variants and whole training steps");
  add_bench_options(*bench, bench_arguments);

  app::RunsArguments runs_arguments;
  CLI::App* const runs = app.add_subcommand("runs", "List runs, or the settings in which some differ");
  add_runs_options(*runs, runs_arguments);

  app::ExportArguments export_arguments;
  CLI::App* const exporting = app.add_subcommand("export", "Write a run in another format");
  add_export_options(*exporting, export_arguments);

  app::ModelsArguments models_arguments;
  CLI::App* const models =
      app.add_subcommand("models", "List networks, or print one as a file to start from");
  add_models_options(*models, models_arguments);

  app::FeaturesArguments features_arguments;
  CLI::App* const features =
      app.add_subcommand("features", "Write what a trained network makes of images, for classifiers");
  add_features_options(*features, features_arguments);

  app::InferArguments infer_arguments;
  CLI::App* const infer =
      app.add_subcommand("infer", "Ask a trained network about images, and time each part of it");
  add_infer_options(*infer, infer_arguments);

  app::MapArguments map_arguments;
  CLI::App* const map =
      app.add_subcommand("map", "Map what a trained network makes of images into the plane");
  add_map_options(*map, map_arguments);

  app::ClassifyArguments classify_arguments;
  CLI::App* const classify =
      app.add_subcommand("classify", "Judge what a trained network makes of images by a classifier");
  add_classify_options(*classify, classify_arguments);

  std::string viewed;
  CLI::App* const view =
      app.add_subcommand("view", "Open the window on a run that another process writes or has written");
  view->add_option("run", viewed, "Folder of the run, or its name in the folder runs")
      ->type_name("RUN")
      ->required();
  app::WindowArguments view_window;
  add_window_options(*view, view_window);

  CLI::App* const devices = app.add_subcommand("devices", "List devices and the variants each can run");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    std::ostringstream told;
    const int code = app.exit(success, told, told);
    files::put(told.str());
    return code;
  } catch (const CLI::ParseError& error) {
    throw core::BadInput(usage_error(app, error, {argv + 1, argv + argc}));
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_options_before(app, *command);
  if (*train) return app::train(app::training_options(train_arguments), then);
  if (*config) return app::config(app::parse(config_arguments), markdown);
  if (*fetch) return app::fetch(data_set, directory);
  if (*verify) return app::verify(verify_arguments);
  if (*bench) return app::bench(bench_arguments);
  if (*runs) return app::runs(runs_arguments);
  if (*exporting) return app::export_runs(export_arguments);
  if (*models) return app::models(models_arguments);
  if (*features) return app::features(features_arguments);
  if (*infer) return app::infer(infer_arguments);
  if (*map) return app::map(map_arguments);
  if (*classify) return app::classify(classify_arguments);
  if (*view) return app::view(viewed, view_window);
  if (*devices) return app::devices();
  return app::window(app::training_options(window_arguments), window);
}

}  // namespace

int main(int argc, char** argv) {
  namespace files = warpscope::files;
  files::hold_streams();
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const warpscope::core::BadInput& error) {
    files::warn(error.what());
    code = 2;
  } catch (const std::exception& error) {
    files::warn(warpscope::core::sentence_of(error));
  }
  const std::string lost = files::output_failure();
  if (lost.empty()) return code;
  files::warn(lost);
  return code == 0 ? 1 : code;
}
