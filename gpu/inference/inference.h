#pragma once
// Inference only: images go to the device in batches, through the network and back as answers, and how long each part
// takes. Weights, plan and buffers are made once. While the device works on a batch the host makes answers of the one
// before and reads the next, which a stream of its own brings to the device.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/inference/folding.h"
#include "gpu/inference/image_source.h"
#include "gpu/models/model.h"
#include "gpu/plan/plan.h"
#include "gpu/plan/views.h"

namespace warpscope::inference {

struct Guess {
  int label = 0;           ///< the class
  double probability = 0;  ///< NaN where a logit is NaN or infinitely great
};

/// So many classes are told of an image.
inline constexpr std::size_t kGuesses = 3;

struct Answer {
  ImageName image;
  /// The likeliest first, at most kGuesses; of a network that classifies. None where the answer is not finite.
  std::vector<Guess> guesses;
  double mse = 0;   ///< mean squared error, values in [0, 1]; of a network that reconstructs
  double psnr = 0;  ///< dB, -10 log10(mse), where an mse below 1e-12 counts as that
  /// False where a logit is NaN or infinitely great, or the error is: the network says nothing of the image then.
  bool finite = true;
};

/// The `most` classes of the greatest logits z, of equal ones the lower first, with exp(z_k - max z) / sum over j of
/// exp(z_j - max z), in double precision. Where one is NaN, the first classes, as cross_entropy.forward has it.
std::vector<Guess> best_guesses(std::span<const double> logits, std::size_t most = kGuesses);

double psnr_of(double mse);

/// Throws core::BadInput that says why there is no answer: of a source that was read to its end.
[[noreturn]] void refuse_all(const std::vector<std::string>& refused, const std::string& title);

/// Microseconds of a batch over all that were measured.
struct Latency {
  double median = 0;
  double p99 = 0;  ///< 99 of a hundred batches take no longer
};

/// Quantiles by linear interpolation between the sorted times. Zeros for none.
Latency latency_of(std::vector<double> microseconds);

struct LayerLatency {
  std::string layer;   ///< or the op, of one that is of no layer: "batch.gather"
  std::string inside;  ///< the layer whose call computes all of this one, whose own times are zeros; else ""
  Latency time;
};

/// What was measured, in microseconds, a number a batch.
struct Samples {
  std::vector<double> read, to_device, network, back, total;
  std::vector<double> device;               ///< network, back, and to_device where nothing ran beside it
  std::vector<std::vector<double>> layers;  ///< of each layer, a number a pass
  int layer_passes = 0;
};

/// Where the time of one rank went, in seconds: sums over its batches. Copies, network and idle are of the device and
/// add up to Outcome::seconds, but for copies to it where batches overlap: these run beside the network. Reading and
/// gathering are of the host, mostly beside the device.
struct RankTimes {
  /// Images that rank 0 sends to those that cannot read them, before the first image counts.
  double scatter = 0;
  double read = 0;
  double to_device = 0, network = 0, back = 0;
  /// Answers packed and sent, on rank 0 received and unpacked; without waiting for images.
  double gather = 0;
  double idle = 0;    ///< the device had nothing else to do, until rank 0 had the answers of all
  double device = 0;  ///< and all the other time
};

struct RankPart {
  std::string_view name;  ///< for people
  std::string_view key;   ///< for programs
  double RankTimes::*time;
};

/// Every part, in the order of an image's way.
inline constexpr std::array kRankParts{RankPart{"scatter", "scatter", &RankTimes::scatter},
                                       RankPart{"reading and decoding", "read", &RankTimes::read},
                                       RankPart{"to the device", "to_device", &RankTimes::to_device},
                                       RankPart{"network", "network", &RankTimes::network},
                                       RankPart{"back", "back", &RankTimes::back},
                                       RankPart{"gather", "gather", &RankTimes::gather},
                                       RankPart{"idle", "idle", &RankTimes::idle}};
inline constexpr double kMillisecondsPerSecond = 1000;

/// What one rank did of the answers of several.
struct RankShare {
  std::string device;       ///< its name
  std::int64_t images = 0;  ///< that it answered
  double seconds = 0;       ///< Outcome::seconds, of these
  RankTimes times;
  std::vector<double>
      layers;  ///< medians, in microseconds of a batch; as Outcome::layers, or none where it has others

  double images_per_second() const { return seconds > 0 ? static_cast<double>(images) / seconds : 0; }
  /// Of RankTimes::network what layer `at` takes, by the medians of all layers; 0 where it is not known.
  double layer_milliseconds(std::size_t at) const;
};

/// What the batches of one rank took: all but scatter, gather and idle.
RankTimes times_of(const Samples& samples);

/// Answers to all images of a source, or to those of a part, before figures are made of them.
struct Findings {
  std::span<Answer> room;  ///< for answers, of which there are:
  std::size_t answered = 0;
  std::vector<std::string> refused;
  std::size_t turned = 0;
  bool interrupted = false;
  double seconds = 0;
  double aside = 0;  ///< seconds that do not count, before the last answer
  Samples samples;

  std::span<const Answer> answers() const { return room.first(answered); }
};

/// What came of it.
struct Outcome {
  std::vector<Answer> answers;  ///< in the order of the images
  std::vector<std::string> refused;
  std::size_t turned = 0;    ///< pictures, as their EXIF orientation says
  bool interrupted = false;  ///< before the last image
  plan::ViewSettings views;  ///< the answers are by these of each image
  int batch = 0;
  std::int64_t batches = 0;
  /// From reading the first image to the last answer, without what comes between batches while the device has none:
  /// passes that time layers, and GoOn. Several ranks begin together; their time ends when rank 0 has all answers.
  double seconds = 0;
  RankTimes times;               ///< of this rank, where there is one
  double device_seconds = 0;     ///< RankTimes::device of all batches, by the events of the device
  std::vector<RankShare> ranks;  ///< none where there is one
  /// For each batch: reading and decoding on the host; copies of the pixels to the device; the network, launched as
  /// one graph; copies of its output back. The total goes from the start of reading a batch until the host finds its
  /// output in its memory. Where batches overlap, a batch may wait for the device to end the one before, and its output
  /// for the host to answer that one and read the next; the total holds both.
  Latency read, to_device, network, back, total;
  std::vector<LayerLatency> layers;  ///< in the order they run
  std::size_t guesses = 0;           ///< of an answer that is finite; 0 of a network that reconstructs
  std::int64_t not_finite = 0;       ///< answers that are none (Answer::finite) and count in none of these:
  std::optional<double> accuracy;    ///< where labels are known and the network classifies
  std::optional<double> mse, psnr;   ///< means over the images, of a network that reconstructs

  /// All answers in `seconds`.
  double images_per_second() const;
  /// All answers in `device_seconds`: what overlapping batches come near to where the host keeps up. With several
  /// ranks it is the sum over them.
  double device_images_per_second() const;
  /// A full batch in the median of the network's time, times the ranks that answered: without copies.
  double network_images_per_second() const;
};

/// Whether the host reads a batch while the device works on the one before.
enum class Pace : std::uint8_t {
  overlapped,
  one_by_one,  ///< a batch is read when the one before has its answers: the latency of a batch by itself
};

class Inference {
 public:
  /// `parameters`: models::ParameterLayout of `model`, in host memory. A model that classifies runs up to its
  /// logits, one that reconstructs up to the error of each image. The calling thread has made `device` its current
  /// one; `stream` outlives this. With `views` of several views a model that classifies images answers by all of each
  /// image (plan/views.h): its network's time is that of all passes and of what is copied between. Unless `selection`
  /// names a variant of batch_norm.infer, batch norms become part of the layers before them where they can
  /// (folding.h). Throws core::BadInput and core::OutOfMemory as plan::Plan does, core::BadInput as
  /// plan::check_views().
  Inference(const models::Model& model, std::span<const float> parameters, const plan::Selection& selection,
            int batch, std::shared_ptr<core::Device> device, core::Stream& stream,
            const plan::ViewSettings& views = {});

  /// Called before each batch is read, with the number of images asked about before: of these there will be answers
  /// whatever it says. False ends it.
  using GoOn = std::function<bool(std::int64_t answers)>;

  /// Is given the answers of a batch as soon as they are there, and none after the last.
  using Taken = std::function<void(std::span<const Answer> batch)>;

  /// A pass over zeros, which no figure counts: the first takes longer.
  void warm_up();
  /// Asks about every image, in the order of the source, after warm_up(). A last batch that is not full is filled with
  /// what came before, of which nothing is told. Layers are measured by passes of their own, since events between them
  /// cost time: one a batch up to kLayerPasses. They come between batches while the device has none, those still
  /// missing after the last; an interrupted run makes one of these if it had none. They count nowhere else. `room`
  /// takes the answers: made before, so that no time goes into new memory.
  Findings find(ImageSource& source, std::span<Answer> room, const GoOn& go_on, Pace pace,
                const Taken& taken = {});
  /// Figures of all that was found, `answers` of all.
  Outcome conclude(Findings findings, std::vector<Answer> answers) const;
  /// All three. Throws core::BadInput if no image can be read.
  Outcome run(ImageSource& source, const GoOn& go_on = {}, Pace pace = Pace::overlapped);

  static constexpr int kLayerPasses = 100;

 private:
  class Stopwatch;
  static constexpr std::size_t kBatches = 2;
  Inference(Folded network, const plan::Selection& selection, int batch, std::shared_ptr<core::Device> device,
            core::Stream& stream, const plan::ViewSettings& views);
  /// A batch on its way, and its memory on the host.
  struct Batch {
    core::HostBuffer pixels;
    core::HostBuffer output;  ///< what each view of the images gives, in as many equal parts
    std::unique_ptr<core::Event> begin, copied, started, run, done;
    std::size_t place = 0;  ///< its images are those from `place` x batch on
    std::vector<ImageName> images;
    double start = 0;  ///< when reading it began, by the stopwatch
  };
  /// Bytes of the output of the first `count` images.
  std::size_t output_bytes(std::size_t count) const;
  /// Those of a batch that has them, as numbers.
  std::vector<double> rows_of(const Batch& batch) const;
  bool classifies() const { return model_.loss == models::Loss::cross_entropy; }
  void group_layers();
  /// Brings the first `count` images to the device, runs them and brings the output back, without waiting for it.
  void enqueue(const Batch& batch, std::size_t count);
  /// What has been measured of a batch that is done.
  void measure(const Batch& batch, Samples& samples) const;
  /// Waits for a batch and makes answers of it.
  void take(Batch& batch, const Stopwatch& watch, const Taken& taken, Findings& findings) const;
  void time_layers(Samples& samples);
  void answer(Batch& batch, std::span<Answer> answers) const;
  void summarize(Samples samples, Outcome& outcome) const;

  models::Model model_;  ///< without what is folded:
  std::vector<FoldedNorm> norms_;
  plan::ViewSettings view_settings_;
  std::vector<plan::View> views_;
  std::shared_ptr<core::Device> device_;
  core::Stream& stream_;
  core::Buffer weights_, images_, order_;
  core::Buffer control_, controls_;  ///< what a pass reads; what it is for each place and view
  std::size_t told_ = 0;             ///< the one of `controls_` that passes read now
  std::unique_ptr<core::Stream> copies_;
  bool copies_beside_ = false;  ///< batches overlap
  std::unique_ptr<plan::Plan> plan_;
  plan::WrittenTensor output_;           ///< a row an image: logits, or its error
  std::vector<LayerLatency> layers_;     ///< without times
  std::vector<std::size_t> layer_of_;    ///< of each node of the plan: index into `layers_`
  std::array<Batch, kBatches> batches_;  ///< the device works on one while the host has the other
};

}  // namespace warpscope::inference
