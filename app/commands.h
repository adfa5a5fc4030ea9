#pragma once
// One function per command, each in a file of its own. They return the exit code: 0, 1 (the run failed), 2
// (bad input).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/choices.h"
#include "app/trained_source.h"
#include "gpu/features/judgement.h"
#include "gpu/maps/map.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/trainer.h"

namespace warpscope::app {

struct WindowArguments {
  std::string screenshot;
  std::uint64_t exit_after_steps = 0;
  std::string size;           ///< "1600x1000"; "" for the remembered one
  std::string draw = "auto";  ///< who draws: "auto", "gpu" or "cpu"
};

/// Trains without a window, with a progress bar on a terminal and plain lines elsewhere.
/// `then`: a classifier that judges the features of the trained network at the end, "" for none.
int train(training::TrainerOptions options, const std::string& then = "");

/// Opens the window. Without a display it says so and trains headless.
int window(training::TrainerOptions options, const WindowArguments& arguments);

/// Opens the window on a run, a folder or the name of one in the default folder of runs, that another process
/// trains or has trained. Throws core::BadInput if there is no such run or no display.
int view(const std::string& run, const WindowArguments& arguments);

/// Prints the settings as a TOML file, or the table of all options as docs/options.md holds it.
int config(const training::Configuration& configuration, bool markdown);

/// Lists the devices and what each can run.
int devices();

/// Downloads a data set, by its name, into `directory` ("" for the user's cache folder).
int fetch(const std::string& data_set, const std::string& directory);

struct VerifyArguments {
  ChoiceArguments choices;
  int shapes = 8;
  std::uint64_t seed = 1;
  bool libraries = true;
  std::string json;  ///< file, "-" for standard output instead of the table, "" for none
};

/// Holds every variant against the reference and prints what was found. 1 if anything is wrong.
int verify(const VerifyArguments& arguments);

struct BenchArguments {
  ChoiceArguments choices;
  std::string model = "autoencoder";  ///< a name or a file
  int batch = 0;                      ///< 0: as a training's
  std::string optimizer = "adam";     ///< rule of the whole steps
  std::string select;                 ///< against which whole steps of other choices are held; "": automatic
  std::optional<int> samples;         ///< launches of each variant and steps of each selection, at most
  bool variants = true;               ///< time them by themselves
  std::vector<std::string> shapes;    ///< instead of the model's
  std::optional<bool> steps;          ///< unset: unless ops, variants or shapes are chosen
  std::string json;                   ///< file, "-" for standard output instead of the tables, "" for none
  std::string csv;                    ///< file, "-" for standard output instead of the tables, "" for none
  std::string against;                ///< an earlier --json file, "" for none
};

/// Times every variant on the shapes of the model, and whole training steps.
int bench(const BenchArguments& arguments);

/// Runs that one command takes.
constexpr int kMostRuns = 64;

struct RunsArguments {
  std::string folder;             ///< "" for the default one, which need not exist
  std::string sort = "time";      ///< or test_loss, speed
  std::vector<std::string> diff;  ///< runs whose settings are compared instead; folders, or names in `folder`
  std::string json;               ///< file, "-" for standard output instead of the table, "" for none
};

/// Lists runs with their key figures, or the settings in which some of them differ.
int runs(const RunsArguments& arguments);

struct ExportArguments {
  std::vector<std::string> runs;  ///< folders, or names in the default folder of runs; or a file of `bench`
  std::string to;                 ///< csv, tensorboard, safetensors, svg, png, json, trace
  std::string out;                ///< file ("-" for standard output, where it is text or a picture) or folder
  std::vector<std::string> series;
  std::string over;  ///< step, epoch, seconds; "" for step
  bool logarithmic = false;
  std::string title;
  std::string checkpoint;  ///< best, last, or a file; "" for last
  std::string precision;   ///< of a file of `bench`; "" for the first in it
};

/// Writes what runs hold in another format.
int export_runs(const ExportArguments& arguments);

struct ModelsArguments {
  std::vector<std::string> models;  ///< names or files; none: all that are built in
  bool layers = false;              ///< a table of the layers of each
  std::string device = "auto";      ///< whose memory is told
  std::string precision;            ///< "" for the device's default
  int batch = 0;                    ///< 0: the device's default
  std::string json;                 ///< file, "-" for standard output instead of the text, "" for none
};

/// Lists networks with their parameters, operations and memory; of a single one prints the file to start from.
int models(const ModelsArguments& arguments);

struct FeaturesArguments {
  TrainedArguments trained;
  std::string split = "all";  ///< train, test, all
  std::int64_t rows = 0;      ///< the first so many images of each part; 0: all
  std::string out;
  std::string format;  ///< npy, csv, safetensors, libsvm; "" for what the file's name ends with
};

/// Writes what layers of a trained network make of a data set's images.
int features(const FeaturesArguments& arguments);

struct InferArguments {
  TrainedArguments trained;  ///< `data` may be pictures too
  int batch = 0;             ///< 0: the device's standard
  bool mirrored = false;     ///< also by mirror images
  int shift = 0;             ///< also by each image shifted to four corners by so many pixels; 0: not
  std::string select;        ///< variants, as plan::apply() takes them
  std::string out;           ///< answers: file, "-" for standard output instead of the text, "" for none
  std::string format;        ///< csv, json; "" for what the file's name ends with
  std::string json;          ///< figures: file, "-" as above, "" for none
};

/// Asks a trained network about images and tells how long each part of it takes. 1 if some could not be read or
/// have no answer that is finite.
int infer(const InferArguments& arguments);

struct MapArguments {
  TrainedArguments trained;
  std::string method = "tsne";  ///< of maps::map_table()
  maps::MapOptions options;
  std::int64_t rows = 0;  ///< the first of the test images; 0: as many as the device takes well
  std::string out;
  std::string format;  ///< as that of FeaturesArguments
};

/// Writes where test images lie in the plane by what a trained network makes of them.
int map(const MapArguments& arguments);

struct ClassifyArguments {
  TrainedArguments trained;
  features::JudgementRequest request;
  bool standardize = true;
  std::string json;  ///< file, "-" for standard output instead of the text, "" for none
};

/// Fits a classifier to what a trained network makes of a data set's training images and tells how good it is on its
/// test images. 1 if the fit did not converge.
int classify(const ClassifyArguments& arguments);

/// What `classify` has found.
struct JudgedFeatures {
  std::string weights, layers, model, data, device, precision, remark;
  std::int64_t training_rows = 0, test_rows = 0;
  int columns = 0;
  bool standardized = true;
  double feature_seconds = 0, standardize_seconds = 0;
  std::vector<std::string> classes;
  features::Judgement judgement;
};

/// Its work for a network that is there already; `arguments.trained` and `json` are not looked at. Nothing if a person
/// interrupted it.
std::optional<JudgedFeatures> judge_source(const TrainedSource& source, const ClassifyArguments& arguments);
/// Prints what was found, and returns the exit code.
int tell(const std::optional<JudgedFeatures>& report, const std::string& json);

}  // namespace warpscope::app
